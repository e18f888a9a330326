"""The `smol-decider` model of tiebreak: an adapter, and the code that merges it with its base on first use."""

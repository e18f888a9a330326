"""The training of the `smol-decider` model: data, trainer, average, export and evaluation. See README.md."""

"""The stages after load: layout, cache policy and readout, and those of them that several engines share."""

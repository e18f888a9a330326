"""The `pcdserver` engine: parallel constrained decoding with pcdServer."""

"""Whole datasets: a file of rows in, the same rows with their answers out; what `tiebreak map` does."""

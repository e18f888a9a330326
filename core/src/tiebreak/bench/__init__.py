"""`tiebreak bench`: what engines cost and how often they are right, measured on the user's own machine.

Nothing is imported here; `results` is the file format, `run`, `prefix`, `schemas`, `overhead` and `parity` measure.
"""

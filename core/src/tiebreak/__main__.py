"""`python -m tiebreak` is the command line."""

from tiebreak.cli import main

main()

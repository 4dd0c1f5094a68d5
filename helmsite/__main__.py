"""`python -m helmsite`."""

from helmsite.cli import main

main(prog_name="helmsite")

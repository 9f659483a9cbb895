"""Lets ``python -m pydplib`` run the command."""

from pydplib.cli import main

main()

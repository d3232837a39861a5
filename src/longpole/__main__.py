"""`python -m longpole` is `longpole`."""

from longpole.cli import main

main(prog_name="longpole")

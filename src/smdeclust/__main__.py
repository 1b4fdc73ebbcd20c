"""``python -m smdeclust`` is the command line."""

from smdeclust.cli import main

main()

"""`python -m infonn` is the `infonn` command."""

from infonn.cli.main import main

main()

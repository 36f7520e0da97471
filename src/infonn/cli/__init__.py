"""The `infonn` command, one file per group of commands."""

"""What a part has to be: the loop's protocols and the storages'."""

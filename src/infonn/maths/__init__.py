"""Arrays in, arrays out: no state, no files, no progress bars."""

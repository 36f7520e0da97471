"""Results in, figure out."""

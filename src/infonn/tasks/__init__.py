"""The two uses of the loop."""

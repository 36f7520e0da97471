"""Other tools' files, there and back."""

"""The server where people answer and owners look."""

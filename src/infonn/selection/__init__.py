"""Pool and belief -> batch."""

"""Which way of choosing labels is best, on many kinds of data."""

"""Studies people are answering: fitted, filled, reported, moved in and out."""

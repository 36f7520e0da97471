"""Neural embeddings of features, trained on similarity answers."""

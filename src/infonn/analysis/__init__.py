"""What came of a study: how far it can be trusted, how many dimensions it needs, how groups of people differ."""

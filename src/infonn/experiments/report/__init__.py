"""What `results/` says about the paper, on one page: each figure and table, each claim, the evidence."""

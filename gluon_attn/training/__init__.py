"""Training: the loop and what it needs."""

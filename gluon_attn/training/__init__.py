"""Training: the training loop, recipes, batching, checkpoints and distributed workers."""

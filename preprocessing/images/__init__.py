"""Images as the rows of a pipeline: data, steps, results."""

"""The engine: steps, pipelines, the cache and the card. Knows nothing of text."""

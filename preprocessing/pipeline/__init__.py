"""The engine: steps, pipelines, the cache and the card, independent of the kind of data."""

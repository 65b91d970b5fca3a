"""A translation pipeline in memory that does not grow with the corpus: in chunks of pairs, by several processes, with
what they find on disk. The result is the same, byte for byte."""

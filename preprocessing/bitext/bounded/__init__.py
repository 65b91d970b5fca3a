"""Run a translation pipeline in memory that does not grow with the corpus: in chunks of pairs, by several processes,
with intermediate results on disk. The result is the same, byte for byte."""

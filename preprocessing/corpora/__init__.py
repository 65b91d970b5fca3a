"""What is known of each corpus, and how its files are found or downloaded."""

from preprocessing.corpora.locate import CorpusFiles, find, given

__all__ = ["CorpusFiles", "find", "given"]

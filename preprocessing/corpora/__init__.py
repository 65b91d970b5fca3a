"""What is known of each corpus, and how its files get here."""

from preprocessing.corpora.locate import CorpusFiles, find, given

__all__ = ["CorpusFiles", "find", "given"]

"""The registered corpora, and how their files are found or downloaded."""

from preprocessing.corpora.locate import CorpusFiles, find, given

__all__ = ["CorpusFiles", "find", "given"]

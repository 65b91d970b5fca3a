"""Data and steps of texts: rows of one text, documents, tokenizers, vocabularies."""

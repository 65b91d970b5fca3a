"""Data and steps for text: rows with one text, documents, tokenizers, vocabularies."""

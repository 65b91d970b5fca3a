"""Tokenizers: text in, list of tokens out. No token is empty or contains white space.

Each states its rule in words, its parameters, and the exact versions of the packages that determine its output. Most
are fixed; SentencePiece is trained on the training split, and its model is then part of the result. ``registry`` gives
a tokenizer by its name.
"""

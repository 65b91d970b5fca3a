"""Decoding: greedy and beam search."""

"""Blocks that several models share."""

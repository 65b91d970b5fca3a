"""Guides in ``docs/``, and the pictures of the guide to the attention layer."""

"""Data and steps of parallel text."""

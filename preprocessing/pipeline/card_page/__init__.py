"""The card as an HTML page."""

"""One HTML page on which texts can be read with their attention weights."""

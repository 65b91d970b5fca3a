"""An HTML page on which texts can be read with their attention weights, and one that plays a drive."""

"""One script per paper, and the protocol they share. The only package that imports both of the others."""

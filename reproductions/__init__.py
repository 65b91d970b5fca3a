"""One script per paper, and the protocol that they share. This is the only package that imports both of the others."""

"""One script per paper, and the protocol they share. The only room that knows both of the others."""

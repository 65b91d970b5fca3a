"""Pages that show attention: live, for text that the user types, and as a static site of the published results."""

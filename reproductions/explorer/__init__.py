"""Pages on which attention can be seen: live, of what one types, and as a static site of what is published."""

"""What HTML pages have in common."""

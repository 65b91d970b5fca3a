"""Language modelling, by networks and by n-grams."""

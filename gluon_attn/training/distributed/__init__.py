"""Training one model with several workers, on one machine or on several."""

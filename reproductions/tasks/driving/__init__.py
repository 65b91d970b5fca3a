"""Steering a car from its camera."""

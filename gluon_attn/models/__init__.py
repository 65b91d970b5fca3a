"""One architecture a file, readable beside its paper."""

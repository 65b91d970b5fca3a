"""Pretraining on text without labels, and fine-tuning."""

"""Measuring networks: statistics, faithfulness of attention, word vectors."""

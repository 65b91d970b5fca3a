"""Evaluation: statistics, faithfulness of attention, word vectors."""

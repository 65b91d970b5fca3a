"""Evaluation: intervals and inference, faithfulness of weights, measures of heads, images and word vectors."""

"""What the papers of one task share: data, training, measuring, prediction."""

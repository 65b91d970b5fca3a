"""Trainings that several papers of translation share, and what their pages say about them."""

from __future__ import annotations

from dataclasses import replace

from gluon_attn.training.recipe import Recipe

# One full training for all main rows, one smaller training for all ablations.
STANDARD = Recipe(epochs=10, batch_size=64, learning_rate=2e-3, warmup_steps=400, decay="cosine", clip_norm=1.0)
LONGER = replace(STANDARD, epochs=14)
"""For Korean, with less than half as many pairs as Multi30k."""
SMALL = replace(STANDARD, epochs=8)
SMALL_LONGER = replace(STANDARD, epochs=16)
"""For ablations with three seeds, whose claims are judged."""
SMALLER = ", smaller setting"
"""End of the title of such a variant."""
AT_SCALE = "recipe, case, search and the selection of training text are ours"
"""What differs from the paper's system at the paper's sizes, on its corpus."""
SMOKE = Recipe(epochs=2, batch_size=32, learning_rate=5e-3, clip_norm=1.0)

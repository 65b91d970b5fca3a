"""The published examples of classifiers, and the split that each is of."""

from __future__ import annotations

from typing import Any

from reproductions.protocol.runs import Outcome

CORRECT_SENTENCE = "correct_sentence"
"""The example that is of the validation split."""


def examples_with_split(outcome: Outcome) -> list[tuple[str, dict[str, Any]]]:
    """Return the published examples of an outcome in order, each with the split in which its ``row`` counts."""
    return [
        ("validation" if name == CORRECT_SENTENCE else "test", example)
        for name, value in outcome.examples.items()
        for example in (value if isinstance(value, list) else [value])
    ]

"""The card of a drive as a page, and what its ``splits`` and ``facts`` state (for the rest see ``pipeline/card.py``):

splits          {split: {rows}}, one row for each frame
facts
  drive         {frames, frames_without_a_row, seconds, median_interval, longest_interval, frame_before_error}
  blocks        {split: {frames, stretches, seconds, mean_absolute_steering, steering_exactly_0,
                mean_absolute_target, largest_absolute_target}}, steering and target in the unit of the target
  leak          {by_block, by_frame: {nearest_frame, always_0}}: errors of predicting the target of the most similar
                training frame, and of always predicting 0; only with train and test
  channels      {mean, std}: of the normalization
  unit          unit of the target, if it is not degrees
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from preprocessing.pipeline.card_page import card_page

TOPICS = ("drive", "blocks", "leak", "channels", "unit")
"""Facts with a section of their own on the page; other facts are shown as JSON."""


def write(card: Mapping[str, Any], path: Path) -> None:
    """Write the page of a card, whole or not at all; the same card gives the same bytes."""
    facts = {topic: card["facts"].get(topic, {}) for topic in TOPICS}
    unit = facts["unit"] or "degrees"
    card_page.write(card, path, template="images/drive_page.html.j2", topics=TOPICS, facts=facts, unit=unit)

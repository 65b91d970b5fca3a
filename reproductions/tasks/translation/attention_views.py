"""Alignments of translators of one sentence, and their published examples."""

from __future__ import annotations

import numpy as np

from gluon_attn.errors import UsageError
from preprocessing.bitext.subwords import joined
from preprocessing.text.vocabulary import UNKNOWN_ID
from reproductions.protocol.attention_view import Alternative, AttentionView
from reproductions.protocol.runs import Outcome
from reproductions.protocol.task import TrainedModel
from reproductions.tasks.translation.data import TranslationData, TranslationSettings
from reproductions.tasks.translation.decoding import translate_as_set

LONGEST = 100
"""Maximum number of source tokens; the matrix of a longer sentence would be unreadable."""


def of_sentence(
    trained: TrainedModel[TranslationSettings, TranslationData], text: str, beam: int | None = None
) -> AttentionView:
    """Return a sentence with the translations in the final beam, the best first; the default beam is that of the
    settings.

    Raises:
        UsageError: if the sentence has no tokens or is too long to be shown.
    """
    encoded = trained.data.prepared.encode([text], processes=1)
    words, length = encoded.words(0), int(encoded.lengths[0])
    if not words:
        raise UsageError("there is no token in this sentence; type one")
    if length > LONGEST:
        raise UsageError(f"{length} tokens cannot be shown; type a sentence of at most {LONGEST}")
    (hypotheses,) = translate_as_set(trained, encoded, beam=beam, n_best=beam or trained.variant.settings.beam)
    without = hypotheses[0].weights is None
    return AttentionView(
        tokens=words,
        unknown=np.flatnonzero(encoded.sequences()[0] == UNKNOWN_ID).tolist(),
        alternatives=[Alternative(each.tokens, each.text, each.log_p, each.weights) for each in hypotheses],
        text=text,
        notes=["This network has no attention: there is no alignment to show."] if without else [],
    )


def of_examples(outcome: Outcome) -> list[AttentionView]:
    """Return the published alignments of an outcome, in order."""
    return [
        AttentionView(
            tokens=example["source"],
            alternatives=[
                Alternative(
                    example["target"],
                    " ".join(joined(example["target"])),
                    None,
                    np.array(example["weights"], np.float32),
                )
            ],
            title=f"test text {example['row'] + 1}",
        )
        for example in outcome.examples.get("alignments", ())
    ]

"""Settings and prepared data that all translation networks share."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from preprocessing.bitext import ibm_model_1
from preprocessing.bitext.pipeline import TranslationResult
from preprocessing.text.vocabulary import PADDING_ID
from reproductions.protocol.task import Settings
from reproductions.tasks.prepared import PreparedCorpus

LINKS = 1 << 26
"""Maximum number of source and target token pairs that a lexicon is learned from, which bounds memory."""

_LEXICON = "lexicon"


@dataclass(frozen=True, kw_only=True)
class TranslationSettings(Settings):
    """Settings that all translation networks share.

    Attributes:
        tokens: ``words``, ``bpe`` or ``sentencepiece``.
        operations: number of merges of the joint byte pair encoding.
        min_freq, max_size: limits of both vocabularies; None for the pipeline's defaults.
        max_length: maximum length of both sides of a training pair, in tokens.
        beam, alpha: beam width, and exponent of the length penalty of Wu et al. (2016), 0 for none.
        alphas: exponents among which validation BLEU chooses, for each trained network; none if ``alpha`` is fixed.
        more_beams: further beam widths that the test split is translated with.
        replace_unknown: whether to also report BLEU with unknown tokens replaced (Luong et al., 2015, sec. 4.1).
        smoothing: label smoothing.
        tied: whether the output weights are the target embeddings.
        units, embedding_units: width of the layers, and of source and target embeddings; the latter is None for
            networks with a single width.
        dropout: dropout rate of the embeddings and of the layers.
    """

    tokens: str = "bpe"
    operations: int = 5_000
    min_freq: int | None = None
    max_size: int | None = None
    max_length: int = 50
    beam: int = 5
    alpha: float = 1.0
    alphas: tuple[float, ...] = ()
    more_beams: tuple[int, ...] = ()
    replace_unknown: bool = False
    smoothing: float = 0.0
    tied: bool = False
    units: int
    embedding_units: int | None = None
    dropout: float = 0.0

    later: ClassVar[tuple[str, ...]] = ("alphas",)

    multiples: ClassVar[tuple[int, int]] = (8, 4)
    """Source and target lengths of a batch are padded to multiples of these; each pair of lengths is a compiled
    graph."""

    @property
    def pipeline_options(self) -> dict[str, Any]:
        """Arguments of the translation pipeline."""
        names = ("tokens", "operations", "min_freq", "max_size", "max_length")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class TranslationData(PreparedCorpus[TranslationResult]):
    """A prepared parallel corpus."""

    packages: tuple[str, ...] = field(default=("sacrebleu", "sacremoses", "subword-nmt"), kw_only=True)

    def shared(self, settings: TranslationSettings) -> dict[str, Any]:
        """Arguments common to all :class:`EncoderDecoder` networks."""
        widths = {}
        if settings.embedding_units is not None:
            widths = dict.fromkeys(("source_units", "target_units"), settings.embedding_units)
        return {
            **widths,
            "source_vocabulary": len(self.prepared.source_vocabulary),
            "target_vocabulary": len(self.prepared.target_vocabulary),
            "padding": PADDING_ID,
            "units": settings.units,
            "dropout": settings.dropout,
            "smoothing": settings.smoothing,
            "tied": settings.tied,
        }

    def with_lexicon(self) -> TranslationData:
        """The same data with the lexicon in the learned state, so that it is saved."""
        state = json.dumps(self.lexicon, ensure_ascii=False).encode("utf-8")
        bitext = self.prepared.data
        learned = replace(bitext, source=bitext.source.with_learned(**{_LEXICON: state}))
        return replace(self, prepared=replace(self.prepared, data=learned))

    @cached_property
    def lexicon(self) -> dict[str, str]:
        """The most likely translation of each source token, learned on the training split; if it is large, on its first
        sentences, up to ``LINKS``."""
        if (saved := self.prepared.data.source.learned.get(_LEXICON)) is not None:
            restored: dict[str, str] = json.loads(saved)
            return restored
        source, target = self.prepared.splits["train"].sides
        rows = int(np.searchsorted(np.cumsum(source.lengths * target.lengths), LINKS, side="right"))
        return ibm_model_1.translations(*([side.words(row) for row in range(rows)] for side in (source, target)))

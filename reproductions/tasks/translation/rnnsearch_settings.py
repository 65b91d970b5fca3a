"""Settings of RNNsearch with layers of equal width."""

from __future__ import annotations

from dataclasses import dataclass

from gluon_attn.models.rnnsearch import RNNSearch
from reproductions.tasks.translation.data import TranslationData, TranslationSettings


@dataclass(frozen=True, kw_only=True)
class RNNSearchSettings(TranslationSettings):
    """Settings of RNNsearch with layers of equal width."""

    def build(self, data: TranslationData) -> RNNSearch:
        widths = {"attention_units": self.units, "maxout_units": self.units}
        return RNNSearch(encoder_dropout=self.dropout, feature_dropout=self.dropout, **widths, **data.shared(self))

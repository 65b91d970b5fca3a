"""Settings of the Transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from gluon_attn.models.transformer import Transformer
from reproductions.tasks.translation.data import TranslationData, TranslationSettings

_LEARNED_POSITIONS = 64  # 50 words, up to 57 byte pairs on Multi30k; later positions share the last vector


@dataclass(frozen=True, kw_only=True)
class TransformerSettings(TranslationSettings):
    """Settings of the Transformer. Defaults are the base model of Vaswani et al. (2017, sec. 3 and 5).

    Attributes:
        layers: N, of the encoder and of the decoder.
        heads: h.
        key_units: d_k, None for units / heads.
        hidden_units: d_ff.
        norm: ``post`` or ``pre``.
        positions: ``sinusoidal``, ``learned`` or ``none``.
        shared: whether source and target share the vocabulary and the embeddings (sec. 3.4).
    """

    operations: int = 37_000
    beam: int = 4
    alpha: float = 0.6
    smoothing: float = 0.1
    tied: bool = True
    units: int = 512
    dropout: float = 0.1
    layers: int = 6
    heads: int = 8
    key_units: int | None = None
    hidden_units: int = 2048
    norm: str = "post"
    positions: str = "sinusoidal"
    shared: bool = True

    multiples: ClassVar[tuple[int, int]] = (2, 2)  # its graphs are small, whatever the length

    @property
    def pipeline_options(self) -> dict[str, Any]:
        return {**super().pipeline_options, "joint_vocabulary": self.shared}

    def build(self, data: TranslationData) -> Transformer:
        return Transformer(
            encoder_layers=self.layers,
            decoder_layers=self.layers,
            heads=self.heads,
            key_units=self.key_units,
            hidden_units=self.hidden_units,
            norm=self.norm,
            positions=self.positions,
            length=_LEARNED_POSITIONS,
            layer_dropout=self.dropout,
            shared=self.shared,
            **data.shared(self),
        )

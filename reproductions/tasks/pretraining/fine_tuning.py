"""Classification by a network pretrained on unlabelled reviews."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from gluon_attn.models.outputs import Classifier
from preprocessing import naver_pieces
from preprocessing.text.pipeline import Result, TextPipeline
from reproductions.protocol.attention_view import AttentionView
from reproductions.protocol.runs import PREPROCESSING
from reproductions.protocol.task import TrainedModel
from reproductions.tasks.classification.settings import ClassificationData
from reproductions.tasks.classification.task import Classification
from reproductions.tasks.prepared import hashes
from reproductions.tasks.pretraining import attention_views
from reproductions.tasks.pretraining.bert_settings import BertSettings
from reproductions.tasks.pretraining.initialization import initialize_from


@dataclass(frozen=True)
class FineTuning(Classification[BertSettings]):
    """Korean film reviews in two classes, in the SentencePiece pieces of the pretraining.

    Attributes:
        labelled: number of training reviews whose labels are used; None for all.
        pretrained: directory of the pretrained network, whose pieces texts of the user are read in.
    """

    corpus: str = naver_pieces.CORPUS
    language: str = "ko"
    labelled: int | None = None
    pretrained: Path | None = field(default=None, kw_only=True)

    keeps_pretrained = True

    @property
    def group(self) -> str:
        return "" if self.labelled else self.corpus

    @property
    def corpora(self) -> tuple[str, ...]:
        return (self.corpus, "nsmc-raw")

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.corpus, f"pieces of {self.labelled or 'all'} labelled texts")

    def after(self, pretrained: Path) -> Self:
        return replace(self, pretrained=pretrained)

    def pipeline(self, settings: BertSettings) -> TextPipeline:
        return self._pieces(settings, sample=False)

    def prepare(self, settings: BertSettings, *, sample: bool = False) -> ClassificationData:
        if self.own:
            if self.pretrained is None:
                raise ValueError("own texts are read in the pieces of a pretrained network, and none is given")
            files = naver_pieces.own_files(self.own.files, self.pretrained / PREPROCESSING)
        else:
            files = naver_pieces.files("sample" if sample else self.corpus)
        return self._data(settings, self._pieces(settings, sample=sample).run(files))

    def restore(self, settings: BertSettings, path: Path, *, sample: bool = False) -> ClassificationData:
        return self._data(settings, self._pieces(settings, sample=sample).load(path))

    def _pieces(self, settings: BertSettings, *, sample: bool) -> TextPipeline:
        max_length = settings.length - 2
        if self.own:
            return naver_pieces.own_pipeline(max_length=max_length, labelled=self.labelled)
        return naver_pieces.pipeline(
            pretraining_length=settings.pretraining_length,
            max_length=max_length,
            labelled=self.labelled,
            **settings.text_options(sample=sample),
        )

    def _data(self, settings: BertSettings, prepared: Result) -> ClassificationData:
        return replace(super()._data(settings, prepared), corpora=hashes(prepared), packages=("sentencepiece",))

    def attention_of(
        self, trained: TrainedModel[BertSettings, ClassificationData], text: str, *, beam: int | None = None
    ) -> AttentionView:
        view, model = super().attention_of(trained, text, beam=beam), trained.model
        return attention_views.with_heads(view, model.bert, trained.data.prepared, text)

    def initialize(self, model: Classifier, data: ClassificationData, pretrained: TrainedModel[Any, Any]) -> None:
        """Initialise the encoder, and the pooler if both have one, from a pretrained network.

        Raises:
            UsageError: if it has no encoder, another vocabulary, or other sizes.
        """
        initialize_from(pretrained, model, data.prepared.vocabulary, ("bert.", "pooler."))

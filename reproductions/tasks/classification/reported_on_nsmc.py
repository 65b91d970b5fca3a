"""Test accuracies on NSMC that public implementations report, next to which several scripts show theirs."""

from __future__ import annotations

from dataclasses import replace

from reproductions.protocol.reported import Table

AISOLAB = Table("aisolab/nlp_implementation", corpus="nsmc", metric="accuracy")
SELF_ATTENTIVE = AISOLAB.entry("self-attentive BiLSTM, pretrained vectors, Mecab", 86.37)
SENTENCE_CNN = AISOLAB.entry("sentence CNN, Mecab", 85.84)

SIMONJISU = replace(AISOLAB, source="simonjisu/nsmc_study")
CNN = SIMONJISU.entry("CNN 3/4/5, Mecab", 86.39, "notebook; its README leaves it out")
FIVE_HOPS = SIMONJISU.entry("3-layer BiLSTM, self-attention r=5, Mecab", 85.10, "notebook; its README has 84.98")
TWENTY_HOPS = SIMONJISU.entry("BiLSTM, self-attention r=20, Mecab", 75.64, "notebook; its README has 84.60")
PENALTY = SIMONJISU.entry("BiLSTM, r=5, penalty 1, Mecab", 72.24, "notebook; its README has 72.08")

KOBERT = replace(AISOLAB, source="SKTBrain/KoBERT", digits=1).entry("KoBERT, pretrained", 90.1)
BILSTM = replace(AISOLAB, source="lih0905/korean-tokenizers", digits=1).entry(
    "2-layer BiLSTM, Mecab", 87.7, "best epoch on the test split, trained on all 150 000 reviews"
)
FASTTEXT = replace(AISOLAB, source="monologg/KoBERT-nsmc").entry("fastText", 85.50)
WORD2VEC = replace(AISOLAB, source="gusalsdmlwlq.github.io", digits=0).entry(
    "BiLSTM 128, word2vec 300, Okt", 83.0, "given as about 83"
)

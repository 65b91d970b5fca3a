"""Text in, ids out: one documented pipeline per corpus. Knows nothing of models and never imports MXNet by itself.

In a few lines:

    from preprocessing import naver
    result = naver.prepare("nsmc", tokenizer="mecab", max_length=30)
    result.train.ids, result.train.offsets, result.train.label, result.vocabulary, result.card

Steps: ``steps.py`` and ``naver.py``. Tokenizers: ``tokenizers.py``. The card's structure: ``card.py``.
"""

"""Text in, ids out: one documented pipeline per corpus. Knows nothing of models and never imports MXNet by itself.

In a few lines:

    from preprocessing import naver
    result = naver.prepare("nsmc", tokenizer="mecab", max_length=30)
    result.train.ids, result.train.offsets, result.train.label, result.vocabulary, result.card

and for text in two languages:

    from preprocessing import translation
    result = translation.prepare("multi30k en-de", source="en", target="de", tokens="bpe")
    result.splits["train"].source.sequences(), result.target_vocabulary, result.detokenize(["ein", "Hund", "."])

and for English documents, sentences and running text:

    from preprocessing import documents, ptb, sentences, two_level
    documents.prepare("imdb", max_words=50), sentences.prepare("sst-5"), ptb.prepare("ptb")

Steps: ``steps.py``, ``naver.py``, ``document_steps.py`` and, of parallel text, ``bitext_steps.py`` and
``translation.py``. Tokenizers: ``tokenizers.py``, ``english.py``, with an inverse ``reversible.py``. The card's
structure: ``card.py``.
"""

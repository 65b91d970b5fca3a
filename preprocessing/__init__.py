"""Text or images in, ids or arrays out, with one documented pipeline per corpus. MXNet is imported only by
``sentence_pieces``, whose tokenizer is GluonNLP's, and by ``Vocabulary.to_gluonnlp``.

In a few lines:

    from preprocessing import naver
    result = naver.prepare("nsmc", tokenizer="mecab", max_length=30)
    result.train.ids, result.train.offsets, result.train.label, result.vocabulary, result.card

Text in two languages:

    from preprocessing import translation
    result = translation.prepare("multi30k en-de", source="en", target="de", tokens="bpe")
    result.splits["train"].source.sequences(), result.target_vocabulary, result.detokenize(["ein", "Hund", "."])

English documents, sentences and running text:

    from preprocessing import documents, ptb, sentences
    documents.prepare("imdb", max_words=50), sentences.prepare("sst-5"), ptb.prepare("ptb")

The modules of this folder are the entry points, one per kind of corpus, with what they share (``files``, ``errors``)
and the readers of large formats (``*_reading``). The folders below it are ``corpora/`` (where
the files are and how they are fetched), ``pipeline/`` (steps, cache and card, independent of the kind of data), and
``text/``, ``bitext/`` and ``images/`` (the data and steps of each kind).
"""

"""The card of data with one text per row as a page, and the contents of its ``splits`` and ``facts`` (for the rest see
``pipeline/card.py``):

    splits          {split: {rows, tokens, labels: {label: rows}, rate_of_label_1}}; labels is {} for rows without
                    labels
    facts
      survey        {part: {rows, empty, doubled_quotes, distinct_texts, duplicate_rows, texts_with_both_labels,
                    labels: {label: rows}, rate_of_label_1, characters: profile}} of the official files as read;
                    duplicate_rows = rows - distinct_texts
      leaks_as_read {rows, of_test, empty, label_of_last_copy_agrees, label_of_a_copy_agrees,
                    label_of_all_copies_agrees}: test rows whose text occurs verbatim in the official train file,
                    empty rows included
      leaks         the same without the empty rows: the rows with seen_in_train
      quotes        {split: rows changed by the step ``unquote``}, only with that step
      lengths       {split: profile} of tokens per row, before truncation
      truncation    [{max_length, splits: {split: {rows_cut, rate_of_rows, tokens_cut, rate_of_tokens}}}] for several
                    lengths, among them the limit of the pipeline
      vocabulary    size, specials, min_freq, max_size, types_in_train, types_kept, tokens_in_train,
                    rate_of_train_tokens_kept, most_frequent: [[token, count]]
      unknown       {split: {tokens, unknown, rate, rows_with_unknown, rate_of_rows, types,
                    most_frequent: [[token, count]]}} of the encoded (truncated) rows

Steps that not every pipeline has add:

      cleaned       {split: rows changed by the step ``clean``}
      rate_of_tokens_removed
                    {split: share of the tokens that are stop words}
      train         rows and labels of train after copies were left out
      labelled      rows and labels of train if only some rows are labelled
      near_copies   {test, validation: reviews of the raw crawl left out as near copies of one in these splits}
      masking       how many pieces are masked, in the first epoch with seed 0
      pairs         {split: films, pairs of reviews, and how many of these are of one film}
      pretraining   digest of the data that the pieces were learned from, and the ``crawl`` below; the digest alone if
                    the pieces come from a saved pipeline
      labels        the labels of your own texts, in the order of their numbers

Documents have no doubled_quotes and no truncation, and also:

    splits          sentences of each split
    facts
      content       SHA-256 of the documents, however they are packed (``document_reading.content_sha256``)
      normalized    {split: documents changed by the step ``plain-text``}
      films         {train, validation: films}, with a validation split by film
      sentences_per_document, words_per_sentence
                    {split: profile}, before either is limited
      word_truncation, sentence_truncation
                    like truncation, for words per sentence and for sentences per document: their "rows" are sentences
                    and documents, their "tokens" words and sentences

The raw crawl of NSMC has a survey of the part ``crawl``, without doubled_quotes and texts_with_both_labels, and also:

      crawl         {films, sha256, reviews_without_label}; sha256 is that of the films, however they are packed
                    (``crawl_reading.read_crawl``)
      left_out      {test, validation: {official_rows, of_them_empty, of_them_in_the_crawl, reviews_left_out}}: rows of
                    these splits of NSMC, and reviews of the crawl with the text of one of them

Labelled sentences with official splits have ``copies`` {"<split> in <other>": like leaks; of_test is the share of the
split} instead of the two leaks. Text for language modelling has ``lines`` {split: {lines, without_words, words,
words_and_line_ends, unknown_as_it_stands, types}} instead of survey. Captions of images have instead:

      images        {split: {images, captions, captions_per_image: the different numbers of captions}}
      captions_of_images_in_no_split
                    captions that were left out
      heights, widths
                    {split: profile} of the image files in pixels
      formats       {split: {format: files}}
      images_that_are_resized
                    images of another size than that of the inputs
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from preprocessing.pipeline.card_page import card_page
from preprocessing.pipeline.card_page.card_page import histograms

TOPICS = (
    "survey",
    "leaks_as_read",
    "leaks",
    "quotes",
    "copies",
    "lines",
    "lengths",
    "sentences_per_document",
    "words_per_sentence",
    "truncation",
    "word_truncation",
    "sentence_truncation",
    "vocabulary",
    "unknown",
)
"""Facts with a section of their own on the page; other facts are shown as JSON."""


def write(card: Mapping[str, Any], path: Path) -> None:
    """Write the page of a card, whole or not at all; the same card gives the same bytes. Topics of ``TOPICS`` may be
    missing from its facts."""
    facts = {topic: card["facts"].get(topic, {}) for topic in TOPICS}
    characters = {part: survey["characters"] for part, survey in facts["survey"].items()}
    leaks = {"as read": facts["leaks_as_read"], "after empty rows were dropped": facts["leaks"]}
    cut, words_cut, sentences_cut = (_limit(card, name) for name in ("max_length", "max_words", "max_sentences"))
    card_page.write(
        card,
        path,
        template="text/card_page.html.j2",
        topics=TOPICS,
        facts=facts,
        leaks={when: leak for when, leak in leaks.items() if leak},
        characters=characters,
        character_plots=histograms(characters),
        cut=cut,
        token_plots=histograms(facts["lengths"], cut),
        words_cut=words_cut,
        word_plots=histograms(facts["words_per_sentence"], words_cut),
        sentences_cut=sentences_cut,
        sentence_plots=histograms(facts["sentences_per_document"], sentences_cut),
        vocabularies={"": facts["vocabulary"]},
    )


def _limit(card: Mapping[str, Any], parameter: str) -> int | None:
    """The limit that the pipeline sets on rows, sentences or documents, by its last step with one: steps before it may
    have learned from shorter texts. None without one."""
    limits = [step["parameters"].get(parameter) for step in card["steps"]]
    return next((limit for limit in reversed(limits) if limit is not None), None)

"""Write a result as files for any framework: arrays, tables, vocabulary and card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from preprocessing.arrays import write_arrays
from preprocessing.files import result_directory, write_json, write_text
from preprocessing.pipeline.ragged import string_arrays
from preprocessing.text import card_page
from preprocessing.text.data import Split
from preprocessing.text.own_texts import learned_labels
from preprocessing.text.pipeline import Result


def write(result: Result, directory: Path, *, overwrite: bool = False, page: bool = False) -> None:
    """Write a result as files, the whole directory or nothing:

    ``train.npz``, ``validation.npz``, ``test.npz``: ``ids`` (tokens,) int32, ``offsets`` (rows + 1,) int64, ``label``
    (rows,) int8, ``row_id`` (rows,) str, ``seen_in_train`` (rows,) bool, ``text_utf8`` (bytes,) uint8 and
    ``text_offsets`` (rows + 1,) int64; if the rows are divided into sentences, also ``sentence_offsets`` (sentences +
    1,) int64, the bounds of the sentences in ``ids``, and ``document_offsets`` (rows + 1,) int64, those of the rows
    among the sentences; of texts of your own also ``labels``, the name of each label by its number. ``train.tsv``...:
    id, label (its name, of texts of your own), tokens joined by spaces, and, with sentences, the number of tokens of
    each, joined by spaces. ``vocab.json`` (``gluonnlp.Vocab.from_json`` reads it); ``card.json``;
    ``tokenizer.model`` for a trained tokenizer; with ``page``, also ``card.html``, the card as a web page.

    Raises InputError when the directory is not empty, unless ``overwrite`` is true and it contains an earlier result (a
    ``card.json``), which is then replaced as a whole.
    """
    labels = learned_labels(result.data.learned)
    names = {} if labels is None else {"labels": np.array(labels)}
    with result_directory(directory, overwrite=overwrite) as temporary:
        for name, split in result.splits.items():
            write_arrays(temporary / f"{name}.npz", _arrays(split) | names)
            write_text(temporary / f"{name}.tsv", _table(split, labels))
        write_text(temporary / "vocab.json", result.vocabulary.to_json() + "\n")
        write_json(temporary / "card.json", result.card)
        if state := result.tokenizer.state():
            (temporary / "tokenizer.model").write_bytes(state)
        if page:
            card_page.write(result.card, temporary / "card.html")


def _arrays(split: Split) -> dict[str, np.ndarray]:
    arrays = {
        "ids": split.ids,
        "offsets": split.offsets,
        "label": split.label,
        "row_id": split.row_id,
        "seen_in_train": split.seen_in_train,
        **string_arrays("text", split.text.tolist()),
    }
    if split.sentences is not None:
        arrays["sentence_offsets"] = np.concatenate([[0], np.cumsum(split.sentences.ids, dtype=np.int64)])
        arrays["document_offsets"] = split.sentences.offsets
    return arrays


def _table(split: Split, labels: Sequence[str] | None) -> str:
    columns = ["id", "label", "tokens"] + (["sentence_lengths"] if split.sentences is not None else [])
    lines = ["\t".join(columns)]
    for row, (row_id, label) in enumerate(zip(split.row_id, split.label, strict=True)):
        fields = [str(row_id), labels[label] if labels else str(label), " ".join(split.words(row))]
        if split.sentences is not None:
            fields.append(" ".join(map(str, split.sentences[row])))
        lines.append("\t".join(fields))
    return "\n".join(lines) + "\n"

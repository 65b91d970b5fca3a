"""Write a result on parallel text as files that any framework can read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from preprocessing.arrays import write_arrays
from preprocessing.bitext import card_page, subwords
from preprocessing.bitext.bounded.shards import write_columns
from preprocessing.bitext.data import SIDES
from preprocessing.bitext.pipeline import TranslationResult
from preprocessing.files import result_directory, write_json, write_text
from preprocessing.pipeline.ragged import PackedStrings, packed_strings
from preprocessing.text.truecasing import LEARNED as TRUECASED


def write(result: TranslationResult, directory: Path, *, overwrite: bool = False, page: bool = False) -> None:
    """Write a result as files, the whole directory or nothing:

    ``train.npz``, and the same for every split (spaces in its name become hyphens): for each side (``source_``,
    ``target_``) ``ids`` (tokens,) int32, ``offsets`` (rows + 1,) int64, ``text_utf8`` (bytes,) uint8 and
    ``text_offsets`` (rows + 1,) int64 of the raw text, ``seen_in_train`` (rows,) bool; and ``row_id`` (rows,) str.
    ``train.tsv``...: id, source tokens, target tokens. ``vocab.source.json``, ``vocab.target.json``
    (``gluonnlp.Vocab.from_json`` reads them); ``card.json``. With bpe ``bpe.codes`` and ``bpe.source.pieces``,
    ``bpe.target.pieces``, as ``subword-nmt apply-bpe --codes C --vocabulary P`` reads them; with sentencepiece
    ``sentencepiece.model``; with truecasing ``truecase.source.json``: lower-cased words and their cased forms. With
    ``page``, also ``card.html``, the card as a web page.

    A result on disk (see ``bounded``) has a folder for each split instead (``train`` and so on) with a file for each
    array (``source_ids.npy`` and so on) that ``numpy.load(path, mmap_mode="r")`` maps into memory, and no ``.tsv``.
    These are hard links to the files of the cache where the file system has such: copy them before changing one in
    place.

    Raises InputError when the directory is not empty, unless ``overwrite`` is true and it contains an earlier result (a
    ``card.json``), which is then replaced as a whole.
    """
    with result_directory(directory, overwrite=overwrite) as temporary:
        for name, pair in result.splits.items():
            file = name.replace(" ", "-")
            arrays: dict[str, np.ndarray] = {"row_id": pair.row_id}
            for side, split in zip(SIDES, pair.sides, strict=True):
                arrays[f"{side}_ids"], arrays[f"{side}_offsets"] = split.ids, split.offsets
                utf8, text_offsets = packed_strings(split.text)
                arrays[f"{side}_text_utf8"], arrays[f"{side}_text_offsets"] = utf8, text_offsets
                arrays[f"{side}_seen_in_train"] = split.seen_in_train
            if isinstance(pair.source.text, PackedStrings):
                write_columns(temporary / file, arrays)
                continue
            write_arrays(temporary / f"{file}.npz", arrays)
            lines = (
                f"{row_id}\t{' '.join(pair.source.words(row))}\t{' '.join(pair.target.words(row))}\n"
                for row, row_id in enumerate(pair.row_id)
            )
            write_text(temporary / f"{file}.tsv", "id\tsource\ttarget\n" + "".join(lines))
        sides = (
            ("source", result.data.source, result.source_vocabulary),
            ("target", result.data.target, result.target_vocabulary),
        )
        for side, data, vocabulary in sides:
            write_text(temporary / f"vocab.{side}.json", vocabulary.to_json() + "\n")
            for learned, file in (
                (subwords.CODES, "bpe.codes"),
                (subwords.PIECES, f"bpe.{side}.pieces"),
                (TRUECASED, f"truecase.{side}.json"),
            ):
                if learned in data.learned:
                    (temporary / file).write_bytes(data.learned[learned])
            if data.tokenizer is not None and (state := data.tokenizer.state()):
                (temporary / "sentencepiece.model").write_bytes(state)
        write_json(temporary / "card.json", result.card)
        if page:
            card_page.write(result.card, temporary / "card.html")

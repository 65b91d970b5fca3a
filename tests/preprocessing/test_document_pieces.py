"""Documents in the pieces of a published network."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from preprocessing import document_pieces, documents, sentence_pieces
from preprocessing.errors import InputError

# Pinned: when it changes, raise the version of the step that changed.
SAMPLE_DIGEST = "5fff7cb072d5ad3c7e77b7103fffba9c6cb77e68aa5a24486085580de63c1bad"


def test_a_length_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="max_length 0: must be at least 1"):
        document_pieces.pipeline(max_length=0)


@pytest.mark.skipif(
    find_spec(sentence_pieces.PACKAGE.replace("-", "_")) is None,
    reason="the published vocabulary is missing: make weights",
)
def test_the_end_of_each_document_is_kept() -> None:
    result = document_pieces.prepare("sample", max_length=5, cache=False, processes=1)
    assert result.digest == SAMPLE_DIGEST
    same = documents.prepare("sample", validation="film", cache=False, processes=1)
    for name, split in result.splits.items():
        assert split.row_id.tolist() == same.splits[name].row_id.tolist()
    whole = document_pieces.prepare("sample", max_length=10_000, cache=False, processes=1)
    for row in range(len(result.test.text)):
        assert result.test.words(row) == whole.test.words(row)[-5:]
    assert len(result.vocabulary) == 30_522

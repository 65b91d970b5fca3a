"""The attention heads of BERT over one text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from mxnet import nd

from gluon_attn.errors import UsageError
from gluon_attn.models.bert import Bert
from preprocessing.text.pipeline import Result
from preprocessing.text.vocabulary import CLASSIFY_ID, SEPARATOR_ID, UNKNOWN_ID
from reproductions.protocol.attention_view import LARGEST_MATRIX, AttentionView, Heads, joined_tokens
from reproductions.protocol.task import TrainedModel

_LONGEST = LARGEST_MATRIX - 2  # pieces between both special tokens


def heads_over(bert: Bert, prepared: Result, text: str) -> Heads:
    """All heads of an encoder over one text with its special tokens, cut to the length that the pipeline keeps."""
    ids = np.concatenate([[CLASSIFY_ID], prepared.encode([text], processes=1).ids, [SEPARATOR_ID]]).astype(np.int32)
    inputs = nd.array(ids[None], dtype=ids.dtype)
    attended = bert.attend(inputs, nd.zeros_like(inputs), nd.array([len(ids)]))
    tokens = [prepared.vocabulary.idx_to_token[index] for index in ids]
    return Heads("a token to all tokens", tokens, tokens, np.stack([layer.asnumpy()[0] for layer in attended]))


def with_heads(view: AttentionView, bert: Bert, prepared: Result, text: str) -> AttentionView:
    """Add the heads to the view of a text that is short enough to show them."""
    if len(view.tokens) > _LONGEST:
        return replace(view, notes=[*view.notes, f"Heads are shown for texts of up to {_LONGEST} pieces."])
    return replace(view, heads=[heads_over(bert, prepared, text)])


def of_text(trained: TrainedModel[Any, Any], text: str) -> AttentionView:
    """Return the pieces of a text and the heads of a pretrained network over them.

    Raises:
        UsageError: if the text has no pieces.
    """
    prepared = trained.data.prepared
    encoded = prepared.encode([text], processes=1)
    tokens = encoded.words(0)
    if not tokens:
        raise UsageError("there is no token in this text; type a sentence")
    total = len(prepared.tokenizer.tokenize(text))
    view = AttentionView(
        tokens=tokens,
        joined=joined_tokens(text, tokens),
        unknown=np.flatnonzero(encoded.ids == UNKNOWN_ID).tolist(),
        text=text,
        notes=[f"{total} tokens, of which only the first {len(tokens)} are read."] if total > len(tokens) else [],
    )
    return with_heads(view, trained.model.bert, prepared, text)

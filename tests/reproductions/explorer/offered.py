"""Made-up networks for the tests of the explorer, and a server on a free port of the loopback interface."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from reproductions.explorer.app import Explorer
from reproductions.explorer.networks import Network, Networks
from reproductions.explorer.server import address_of, bind
from reproductions.protocol.attention_view import Alternative, AttentionView

TRANSLATOR = Network(
    id="a/b",
    group="included",
    paper="bahdanau2014",
    variant="b",
    seed=1,
    source="A paper",
    title="A <b>network</b>",
    task="translation",
    language="ko",
    target="en",
    corpus="sample",
    parameters_sha256="0" * 64,
    beam=5,
)


def translation(text: str, words: int = 4) -> AttentionView:
    """Two alternatives; each word attends to the source word at its own position."""
    tokens = text.split()
    weights = np.eye(len(tokens), dtype=np.float32)[np.minimum(np.arange(words + 1), len(tokens) - 1)]
    first, second = (["one", "two", "three", "four"][:words], ["one", "other", "three"])
    alternatives = [
        Alternative(first, " ".join(first), -1.25, weights),
        Alternative(second, " ".join(second), -2.5, weights[:4]),
    ]
    return AttentionView(tokens=tokens, alternatives=alternatives, text=text)


class Fake:
    """Networks that answer what they are told, and remember what they were asked."""

    def __init__(self, answer: Callable[[str], AttentionView], network: Network = TRANSLATOR) -> None:
        self.offered, self.asked, self._answer = [network], [], answer  # type: ignore[var-annotated]

    def attention(self, id: str, text: str, beam: int | None = None) -> dict[str, Any]:
        self.asked.append((id, text, beam))
        return self._answer(text).as_json()


def fake(answer: Callable[[str], AttentionView], network: Network = TRANSLATOR) -> Networks:
    return cast(Networks, Fake(answer, network))


@contextmanager
def serving(networks: Networks, files: Mapping[str, Callable[[], bytes]]) -> Iterator[str]:
    """The address of an explorer that is served as long as the block runs."""
    server = bind(Explorer(networks, files), "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield address_of(server)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

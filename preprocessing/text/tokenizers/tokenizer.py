"""The base class of all tokenizers, and what several of them need."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module, metadata
from typing import Any, ClassVar

from preprocessing.errors import InputError


class Tokenizer(ABC):
    """Base class of all tokenizers. They are cheap to create and to pickle: an analyser is loaded when first needed."""

    name: ClassVar[str]
    rule: str
    packages: ClassVar[tuple[str, ...]] = ()
    needs_jvm: ClassVar[bool] = False
    version: ClassVar[int] = 1  # raised when the same text would give other tokens

    def described(self) -> dict[str, Any]:
        """What determines the tokens, JSON-able: name, parameters, installed packages, and the version of the code if
        it is not the first."""
        own = {"tokenizer": self.name, **self.parameters(), "versions": self.versions()}
        return own if self.version == 1 else {**own, "tokenizer_version": self.version}

    def parameters(self) -> dict[str, Any]:
        """The choices of the caller, JSON-able: here all public attributes. A result is cached under them.

        Raises:
            InputError: if one cannot be written as JSON.
        """
        chosen = self.__getstate__()
        for name, value in chosen.items():
            try:
                json.dumps(value)
            except (TypeError, ValueError):
                reason = f"attribute {name} is {type(value).__name__}, which cannot be written as JSON"
                remedy = "make it a cached_property, or override parameters()"
                raise InputError(f"tokenizer {self.name}", reason, remedy=remedy) from None
        return chosen

    def versions(self) -> dict[str, str]:
        """The installed versions of the packages that determine the tokens."""
        return {package: installed_version(package) for package in self.packages}

    def fit(self, texts: Sequence[str]) -> Tokenizer:
        """A tokenizer trained on texts; a fixed one returns itself."""
        return self

    def state(self) -> bytes:
        """What :meth:`fit` learned; empty for a fixed tokenizer."""
        return b""

    def restored(self, state: bytes) -> Tokenizer:
        """The fitted tokenizer restored from its :meth:`state`."""
        return self

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text, in order; [] for blank text."""

    def __getstate__(self) -> dict[str, Any]:
        """Public attributes without cached properties, which are computed again in another process."""
        return {
            key: value
            for key, value in vars(self).items()
            if not key.startswith("_") and not isinstance(getattr(type(self), key, None), cached_property)
        }


def pieces_of(text: str, longest: int) -> Iterator[str]:
    """Pieces of at most ``longest`` characters, cut at the last white space within that length, else anywhere; no piece
    is blank."""
    start = 0
    while start < len(text):
        window = text[start : start + longest + 1]
        to_last_space = re.match(r"(?s).*\s", window) if len(window) > longest else None
        cut = to_last_space.end() if to_last_space else longest
        if piece := window[:cut].strip():
            yield piece
        start += cut


def installed_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError as error:
        raise InputError(f"package {package}", "is not installed", remedy=f"pip install {package}") from error


def import_package(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        reason = f"cannot be loaded ({error})"
        raise InputError(f"package {package}", reason, remedy=f"pip install {package}") from error

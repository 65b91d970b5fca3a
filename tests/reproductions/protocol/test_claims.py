"""Declared claims."""

from __future__ import annotations

from reproductions.protocol.claims import Better, Measured
from tests.reproductions.support import claims_by_id
from tests.reproductions.toy import REPRODUCTION


def test_a_comparison_needs_both_variants() -> None:
    claim = Better("bend", "A is better than B", "a", "b")
    assert claim.variants == ("a", "b") and claim.source == "ours" and claim.metric == ""


def test_claims_are_named() -> None:
    claims = claims_by_id(REPRODUCTION.claims)
    assert list(claims) == ["bend", "chance"]
    assert isinstance(claims["bend"], Better) and isinstance(claims["chance"], Measured)

"""Generated parallel text: the same for the same size, parallel, with the statistics that its description states."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.preprocessing_scale import HEAD, TAIL, generate, lines_of


@pytest.mark.slow
@pytest.mark.corpus("multi30k")
def test_generated_text(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        generate(tmp_path / name, 2_000)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == [f"{split}.{language}" for split in ("test", "train", "validation") for language in ("de", "en")]
    texts = {name: (tmp_path / "a" / name).read_text(encoding="utf-8").splitlines() for name in files}
    assert all("\n".join([*texts[name], ""]) == (tmp_path / "b" / name).read_text(encoding="utf-8") for name in files)
    assert len(texts["train.en"]) == len(texts["train.de"]) == 2_000 and len(texts["test.en"]) == 3_000
    assert 22 < sum(len(line.split()) for line in texts["train.en"]) / 2_000 < 26
    copies = 2_000 - len(set(zip(texts["train.en"], texts["train.de"], strict=True)))
    assert copies < 40, "about two in a hundred, each of one of a thousand"
    once = {}
    for language in ("en", "de"):
        counts = Counter(word for line in texts[f"train.{language}"] for word in line.split())
        once[language] = sum(count == 1 for count in counts.values()) / counts.total()
    assert once["en"] < once["de"] and TAIL["en"][0] < TAIL["de"][0] and HEAD == 20_000


def test_both_targets_are_in_the_table_of_speeds() -> None:
    lines = lines_of({"pairs": 4_500_000, "pairs_per_second": 8_000, "peak_mebibytes": 2_048})
    assert [line["met"] for line in lines] == [True, False]
    assert [line["measured"] for line in lines] == ["8,000 pairs/s", "2,048 MiB"]

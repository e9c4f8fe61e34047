"""`from __future__` stands first, wherever an answer put it."""

from __future__ import annotations
import __future__

import pytest

from ckptbench.api.sample import Sample
from ckptbench.fixtures.datasets.code.humaneval import CODE_PROTOCOLS
from ckptbench.fixtures.datasets.code.protocols import IMPORTS, with_preamble
from ckptbench.fixtures.sandbox.future_imports import continued, split_head

PROMPT = 'from math import pi\n\n\ndef area(r):\n    """The area."""\n'
SAMPLE = Sample("Shapes/0", {"prompt": PROMPT, "entry_point": "area", "test": "def check(f): ..."})
WHOLE = "from __future__ import annotations\n\ndef area(r: Radius):\n    return pi * r * r\n"


@pytest.mark.parametrize("name", CODE_PROTOCOLS)
@pytest.mark.parametrize("before", ["", "\n", "# again\n\n", '"""Areas."""\n'])
def test_an_answer_that_repeats_the_function_with_it_compiles(name: str, before: str) -> None:
    answer = before + WHOLE
    if "chat" in name:
        answer = f"Sure:\n```python\n{answer}```\n"
    code = CODE_PROTOCOLS[name]
    program = code.make_program(SAMPLE, answer)
    source = with_preamble(code.preamble, program)
    compiled = compile(source, "program", "exec", dont_inherit=True)
    assert compiled.co_flags & __future__.annotations.compiler_flag
    scope: dict[str, object] = {}
    exec(compiled, scope)
    assert scope["area"](1) == pytest.approx(3.14159, abs=1e-4)  # type: ignore[operator]


@pytest.mark.parametrize(
    "future",
    [
        "from __future__ import annotations",
        "from  __future__  import division, annotations  # both",
        "from __future__ import (\n    annotations,\n    division,\n)",
        "from __future__ import division\n\n# and\nfrom __future__ import annotations",
    ],
)
def test_every_way_of_writing_it_is_moved(future: str) -> None:
    head, rest = split_head(f"'''Doc.'''\n{future}\nx = 1\n")
    assert "__future__" not in rest
    assert rest.endswith("x = 1\n")
    compile(f"{head}import math\n{rest}", "program", "exec", dont_inherit=True)


def test_one_further_down_stays_an_error_of_its_own() -> None:
    late = "x = 1\nfrom __future__ import annotations\n"
    assert split_head(late) == ("", late)
    assert continued(PROMPT, late) == PROMPT + late
    with pytest.raises(SyntaxError):
        compile(with_preamble(IMPORTS, late), "program", "exec", dont_inherit=True)


def test_a_completion_without_it_stays_to_the_letter() -> None:
    for text in ("    return 1\n", "\n\n    # why\n    return 1", "", "    '__future__'\n"):
        assert continued(PROMPT, text) == PROMPT + text

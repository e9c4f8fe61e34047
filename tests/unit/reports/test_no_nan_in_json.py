"""No JSON that is written holds NaN or Infinity, which are not JSON: it is null, or refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from ckptbench._util.jsonio import pretty
from ckptbench.api.sample import content_hash
from ckptbench.reports.html.flips_json import script_json
from ckptbench.results.as_json import one_line

ODD = [math.nan, math.inf, -math.inf]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("write", [pretty, script_json, content_hash])
def test_a_file_a_page_and_a_hash_refuse_it(write: Callable[[Any], str], odd: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write({"value": odd})


@pytest.mark.parametrize("odd", ODD)
def test_a_line_of_a_sample_has_null_in_its_place(odd: float) -> None:
    line = one_line({"value": odd, "rest": [1.5, odd]})
    assert json.loads(line) == {"value": None, "rest": [1.5, None]}

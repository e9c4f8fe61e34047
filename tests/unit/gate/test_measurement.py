"""One checkpoint's benchmarks: whose a metric is, and a metric by sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ckptbench.gate.measurement import Measurement
from ckptbench.scores.score import Score

from .conftest import measured

REAL = measured("real/x", {"real@1": [1.0, 0.0], "real@5": [1.0, np.nan]})
APART = measured("code/x", {"pass@1": [1.0, 1.0]}, primary=False)
COMPOSITE, AVERAGE = Score("score", 0.6, 2, 2), Score("average", 0.7, 2, 2)
WHOLE = Measurement("c", benchmarks=(APART, REAL), composite=COMPOSITE, average=AVERAGE)


def test_a_headline_metric_is_found_by_its_name() -> None:
    assert WHOLE.score("real@1") == REAL.scores[0]
    assert WHOLE.owner_of("real@1") == REAL
    assert WHOLE.primary_benchmarks() == (REAL,)
    # Of a protocol beside the gated one, or of none.
    for name in ("pass@1", "other"):
        assert WHOLE.score(name) is None
        assert WHOLE.owner_of(name) is None


def test_composite_and_average_are_found_by_their_names_where_there_are_any() -> None:
    assert WHOLE.score("score") == COMPOSITE
    assert WHOLE.score("average") == AVERAGE
    bare = replace(WHOLE, composite=None, average=None)
    assert (bare.score("score"), bare.score("average")) == (None, None)
    assert bare.score("real@1") == REAL.scores[0]


def test_a_metric_by_sample() -> None:
    assert REAL.column("real@1") == {"s00000": 1.0, "s00001": 0.0}
    assert np.isnan(REAL.column("real@5")["s00001"])
    assert REAL.column("other") == replace(REAL, table=None).column("real@1") == {}

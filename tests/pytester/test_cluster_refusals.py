"""`--engine ray` where it cannot work: one error, before anything is loaded."""

from __future__ import annotations

import pytest

SUITE = ("--pyargs", "ckptbench.benchmarks", "--limit=2", "--engine=ray", "--checkpoint=demo-mlm")


@pytest.mark.slow
def test_without_ray_the_extra_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(hide="import sys\nsys.modules['ray'] = None")
    result = pytester.runpytest_subprocess(*SUITE, "-p", "hide", "--rootdir=.", timeout=120)
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [
        "ERROR: --engine ray: a cluster needs ray, which is not installed",
        "  pip install 'ckptbench[ray]'",
    ]
    assert not list(pytester.path.glob("results/*"))


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("-n2", "leave -n out"),
        ("--replica-resources=gpus=1.5", "a whole number, or one below 1, for gpus"),
        ("--replica-resources=tpus=0", "a number above 0 for tpus"),
        ("--replica-resources=gpus", "NAME=N"),
        ("--replicas=0", "a whole number"),
        ("--engine=dask", "one of local, ray"),
    ],
)
def test_an_option_that_cannot_be_is_refused(
    pytester: pytest.Pytester, option: str, remedy: str
) -> None:
    result = pytester.runpytest_inprocess(*SUITE, option)
    assert result.ret == 4
    assert remedy in "\n".join(result.errlines)

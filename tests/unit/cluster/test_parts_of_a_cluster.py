"""How requests are cut into parts, and how many replicas a cluster holds."""

from __future__ import annotations

import importlib.util
import signal
from itertools import chain
from typing import Any

import pytest

from ckptbench import CkptbenchError
from ckptbench.config.options import Options
from ckptbench.fixtures.cluster.connection import check, shape
from ckptbench.fixtures.cluster.engine import FULL_BATCH, LARGEST_PART, parts


@pytest.mark.parametrize("replicas", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("requests", [0, 1, 7, 31, 164, 2048, 30_000])
def test_every_request_is_in_one_part(requests: int, replicas: int) -> None:
    found = parts(requests, replicas)
    assert list(chain.from_iterable(found)) == list(range(requests))
    assert all(0 < len(part) <= LARGEST_PART for part in found)
    assert len(found) >= min(replicas, requests // FULL_BATCH)


def test_a_few_requests_are_shared_by_all_replicas() -> None:
    assert [len(part) for part in parts(50, 2)] == [25, 25]
    assert [len(part) for part in parts(4096, 4)] == [256] * 16


GPUS = {"CPU": 16.0, "GPU": 4.0}


@pytest.mark.parametrize(
    ("nodes", "given", "replicas", "needs"),
    [
        ([GPUS], {}, 4, {"GPU": 1, "CPU": 1}),
        ([GPUS, {"CPU": 8.0}], {}, 4, {"GPU": 1, "CPU": 1}),
        ([GPUS], {"replica_resources": {"gpus": 0.5}}, 8, {"GPU": 0.5, "CPU": 1}),
        ([GPUS], {"replica_resources": {"gpus": 0.6}}, 4, {"GPU": 0.6, "CPU": 1}),
        ([GPUS], {"replica_resources": {"gpus": 2}}, 2, {"GPU": 2, "CPU": 1}),
        ([GPUS], {"replica_resources": {"gpus": 0, "cpus": 4}}, 4, {"CPU": 4}),
        ([GPUS], {"device": "cpu"}, 1, {"CPU": 16}),
        ([{"CPU": 8.0}, {"CPU": 2.0}, {"memory": 1.0}], {}, 5, {"CPU": 2}),
        ([GPUS, {**GPUS, "a100": 1.0}], {"replica_resources": {"a100": 0.5}}, 2, None),
        ([{"CPU": 1.0}], {"replicas": 3, "replica_resources": {"gpus": 1}}, 3, None),
    ],
)
def test_replicas_fill_the_cluster(
    nodes: list[dict[str, float]],
    given: dict[str, Any],
    replicas: int,
    needs: dict[str, float] | None,
) -> None:
    found = shape(Options(**given), nodes)
    assert found.replicas == replicas
    assert needs is None or dict(found.needs) == needs


def test_a_shape_in_words() -> None:
    words = str(shape(Options(), [GPUS, {"CPU": 8.0}]))
    assert words == (
        "4 replicas of each checkpoint, with 1 GPU, 1 CPU each, on a Ray cluster of 2 nodes: "
        "4 GPUs, 24 CPUs"
    )


def test_what_no_node_has_is_refused() -> None:
    with pytest.raises(CkptbenchError, match="no node of the cluster has 1 GPU, 1 CPU"):
        shape(Options(replica_resources={"gpus": 1}), [{"CPU": 4.0}])


NEEDS_RAY = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed"
)


@NEEDS_RAY
@pytest.mark.parametrize(
    ("options", "served", "error"),
    [
        (Options(), ["http://127.0.0.1:9/v1"], "http://127.0.0.1:9/v1 is a server"),
        (Options(device="cuda:1"), [], "Ray chooses the GPU of a replica, not --device=cuda:1"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused(
    options: Options, served: list[str], error: str
) -> None:
    with pytest.raises(CkptbenchError, match=error):
        check(options, served)


@NEEDS_RAY
def test_a_cluster_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(CkptbenchError, match="no connection to the Ray cluster"):
        check(Options(), [])
    assert signal.getsignal(signal.SIGTERM) is before

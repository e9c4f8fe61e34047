"""Our names in the letters that MLflow allows."""

from __future__ import annotations

import pytest

from ckptbench.tracking.record import cut, legal_name, metric_name


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("real@1", "real_at_1"),
        ("score", "score"),
        ("점수@1", "점수_at_1"),
        ("gsm8k exact_match,strict-match", "gsm8k exact_match_strict-match"),
        ("a//b/../c/", "a/b/c"),
        ("/", "_"),
        ("x" * 300, "x" * 250),
    ],
)
def test_a_name_is_spelled_as_mlflow_allows(ours: str, theirs: str) -> None:
    assert legal_name(ours) == theirs
    mlflow = pytest.importorskip("mlflow.utils.validation", reason="mlflow is not installed")
    mlflow._validate_metric_name(theirs)


def test_a_metric_of_a_further_protocol_is_told_apart() -> None:
    assert metric_name("real@1") == "real_at_1"
    assert metric_name("real@1", "real/single-mask") == "real/single-mask/real_at_1"


def test_what_is_too_long_says_so() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abc..."

"""Baselines of numbers only: bare scores, and lm-eval's results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.gate.baseline import Baseline, BaselineScore
from ckptbench.readers.baseline import load

BARE = {"real@1": 0.6778, "real@5": 0.8244, "lambada@1": 0.3767}


def loaded(tmp_path: Path, content: Any) -> Baseline:
    path = tmp_path / "numbers.json"
    path.write_text(json.dumps(content))
    return load(path)


def scores(baseline: Baseline) -> dict[str, BaselineScore]:
    assert baseline.bare
    held = baseline.find("any/protocol")
    assert held is not None
    return dict(held.scores)


def refused(tmp_path: Path, content: Any) -> str:
    with pytest.raises(CkptbenchError) as caught:
        loaded(tmp_path, content)
    assert "numbers.json" in caught.value.where
    assert caught.value.remedy
    return caught.value.what


# Bare numbers


def test_three_numbers_without_an_n(tmp_path: Path) -> None:
    got = scores(loaded(tmp_path, BARE))
    assert got == {name: BaselineScore(value) for name, value in BARE.items()}


def test_an_n_for_all(tmp_path: Path) -> None:
    got = scores(loaded(tmp_path, {**BARE, "n": 2_400}))
    assert {score.n for score in got.values()} == {2_400}


def test_an_n_by_metric(tmp_path: Path) -> None:
    got = scores(loaded(tmp_path, {**BARE, "n": {"real@1": 2_400, "lambada@1": 500}}))
    assert [got[name].n for name in BARE] == [2_400, None, 500]


def test_0_and_1_are_fractions(tmp_path: Path) -> None:
    got = scores(loaded(tmp_path, {"a": 0, "b": 1}))
    assert (got["a"].value, got["b"].value) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"real@1": 67.78}, "'real@1' is 67.78, which looks like a percentage: fractions are"),
        ({"real@1": 678}, "'real@1' is 678, which is not between 0 and 1: fractions are expected"),
        ({"real@1": -0.1}, "'real@1' is -0.1, which is not between 0 and 1"),
        ({"real@1": 10**400}, "'real@1' is 1000"),
        ({"real@1": "0.67"}, "'real@1' is '0.67', not a number"),
        ({"real@1": True}, "'real@1' is True, not a number"),
        ({"real@1": None}, "'real@1' is None, not a number"),
        ({"real@1": {"valeu": 0.5}}, "unknown key 'valeu' (did you mean 'value'?)"),
        ({"real@1": {"value": 50}}, "'real@1' is 50, which looks like a percentage"),
        ({"real@1": {"value": 0.5, "standard_error": -1}}, "'standard_error' is -1"),
        ({"real@1": {"value": 0.5, "n": 0}}, "'n' is 0"),
        ({}, "holds no score"),
        ({"n": 100}, "holds no score"),
        ({"real@1": 0.5, "n": 0}, "'n' is 0"),
        ({"real@1": 0.5, "n": 10.5}, "'n' is 10.5"),
        ({"real@1": 0.5, "n": "many"}, "'n' is 'many'"),
        ({"real@1": 0.5, "n": True}, "'n' is True"),
        (
            {"real@1": 0.5, "n": {"rael@1": 5}},
            "'n' names the unknown metric 'rael@1' (did you mean 'real@1'?)",
        ),
    ],
)
def test_what_is_no_score_is_refused(tmp_path: Path, content: Any, error: str) -> None:
    assert refused(tmp_path, content).startswith(error)


# lm-eval


def test_lm_evals_results(tmp_path: Path) -> None:
    content = {
        "results": {
            "hellaswag": {
                "alias": "hellaswag",
                "acc,none": 0.5,
                "acc_stderr,none": 0.01,
                "acc_norm,none": 0.6,
                "acc_norm_stderr,none": "N/A",
            },
            "gsm8k": {"exact_match,strict-match": 0.25, "exact_match_stderr,strict-match": 0.02},
            "wikitext": {"word_perplexity,none": 23.4},
        },
        "n-samples": {"hellaswag": {"original": 10_042, "effective": 1_000}, "gsm8k": 1_319},
        "config": {"model": "hf"},
    }
    assert scores(loaded(tmp_path, content)) == {
        "hellaswag acc,none": BaselineScore(0.5, 0.01, 1_000),
        "hellaswag acc_norm,none": BaselineScore(0.6, None, 1_000),
        "gsm8k exact_match,strict-match": BaselineScore(0.25, 0.02, 1_319),
        "wikitext word_perplexity,none": BaselineScore(23.4),
    }


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"results": [0.5]}, "'results' is no object"),
        ({"results": {"hellaswag": 0.5}}, "results of 'hellaswag' are no object"),
        ({"results": {"hellaswag": {"alias": "x"}}}, "'results' holds no metric"),
    ],
)
def test_results_of_another_shape_are_refused(tmp_path: Path, content: Any, error: str) -> None:
    assert refused(tmp_path, content) == error


LM_EVAL = {"results": {"gsm8k": {"exact_match,none": 0.5}}, "n-samples": {"gsm8k": 100}}


@pytest.mark.parametrize(
    ("stated", "settings"),
    [
        ({}, {}),
        (
            {"chat_template": None, "fewshot_as_multiturn": True, "system_instruction": None},
            {"chat": False, "fewshot_as_multiturn": False, "system_instruction": ""},
        ),
        (
            {"chat_template": "{{ m }}", "fewshot_as_multiturn": True, "system_instruction": "Hi"},
            {"chat": True, "fewshot_as_multiturn": True, "system_instruction": "Hi"},
        ),
    ],
)
def test_lm_evals_file_says_whether_it_was_a_chat(
    tmp_path: Path, stated: dict[str, Any], settings: dict[str, Any]
) -> None:
    held = loaded(tmp_path, {**LM_EVAL, **stated}).find("gsm8k/v3.0-5-shot")
    assert held is not None
    assert held.settings == settings


def test_lm_evals_file_has_the_protocols_of_its_tasks(tmp_path: Path) -> None:
    stated = {
        "versions": {"gsm8k": 3.0},
        "n-shot": {"gsm8k": 5},
        "chat_template": "{{ m }}",
        "model_name": "models/base",
    }
    held = loaded(tmp_path, {**LM_EVAL, **stated})
    assert not held.bare
    assert held.checkpoint == "base"
    found = held.find("gsm8k/v3.0-5-shot")
    assert found is not None
    assert (found.n, found.outcomes, found.settings["chat"]) == (100, {}, True)
    assert held.find("gsm8k/v3.0-0-shot") is None
    part = {"results": {**LM_EVAL["results"], "own": {"acc,none": 0.5}}}
    assert loaded(tmp_path, {**LM_EVAL, **stated, **part}).bare

"""Which of a document's requests asks for the right answer, and what its bits per byte are."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench.api.requests import CompoundResponse, Likelihood
from ckptbench.fixtures.lm_eval.benchmarks import reducer_of
from ckptbench.fixtures.lm_eval.documents import gold_bits_per_byte, has_gold, right_requests

CHOICES = ("yes", "no", "한국")


def instance(
    continuation: str, logprob: float, kind: str = "loglikelihood", repeats: int = 1
) -> Any:
    rolling = kind == "loglikelihood_rolling"
    return SimpleNamespace(
        request_type=kind,
        doc={},
        doc_id=0,
        args=(continuation,) if rolling else ("Question?", continuation),
        repeats=repeats,
        answers=[Likelihood(logprob, False, 1)] * repeats,
    )


def bits(task: Any, instances: Sequence[Any]) -> float | None:
    answers = tuple(answer for each in instances for answer in each.answers)
    return gold_bits_per_byte(task, instances, CompoundResponse(answers))


def choice_task(gold: Any, *, context: Any = "", **more: Any) -> Any:
    """A task of three choices whose requests score them with a space before."""
    instances = [instance(f" {each}", -log(2) * 4 * (n + 1)) for n, each in enumerate(CHOICES)]
    return SimpleNamespace(
        OUTPUT_TYPE="multiple_choice",
        multiple_input=bool(context != ""),
        doc_to_target=lambda doc: gold,
        doc_to_text=lambda doc: context,
        doc_to_choice=lambda doc: list(CHOICES),
        instances=[*instances, *more.get("beside", ())],
    )


@pytest.mark.parametrize(
    ("gold", "places"),
    [(1, (1,)), ("한국", (2,)), ([0, 2], (0, 2)), (-100, ()), (3, ()), ("maybe", ()), ([], ())],
)
def test_the_right_choice_is_the_one_the_task_names(gold: Any, places: tuple[int, ...]) -> None:
    task = choice_task(gold)
    assert right_requests(task, task.instances) == places
    assert has_gold(task) == bool(places)


def test_its_bytes_are_those_of_the_continuation_with_its_delimiter() -> None:
    task = choice_task(2)
    assert bits(task, task.instances) == pytest.approx(12 / 7, abs=0.003)  # a space, two of three


def test_of_several_right_choices_the_likeliest_by_byte_counts() -> None:
    task = choice_task([1, 2])
    assert bits(task, task.instances) == pytest.approx(12 / 7, abs=0.003)  # not 8 bits of 3 bytes


def test_with_several_contexts_the_text_names_the_right_one() -> None:
    task = choice_task("end", context=1)
    assert right_requests(task, task.instances) == (1,)


def test_unconditional_requests_behind_the_choices_are_passed_over() -> None:
    task = choice_task(0, beside=[instance(" yes", -1.0), instance(" no", -1.0)])
    assert right_requests(task, task.instances) == (0,)


@pytest.mark.parametrize("kind", ["loglikelihood", "loglikelihood_rolling"])
def test_a_single_continuation_or_text_is_the_answer(kind: str) -> None:
    only = instance(" four", -5 * log(2), kind)
    task = SimpleNamespace(OUTPUT_TYPE=kind, instances=[only])
    assert bits(task, [only]) == pytest.approx(1.0, abs=0.003)
    assert right_requests(task, [only, only]) == ()


def test_a_request_that_repeats_has_its_answers_behind_each_other() -> None:
    first = instance(" yes", -8 * log(2), repeats=2)
    task = choice_task(1)
    task.instances[0] = first
    assert bits(task, task.instances) == pytest.approx(8 / 3, abs=0.003)


def test_generated_answers_have_none() -> None:
    task = SimpleNamespace(OUTPUT_TYPE="generate_until", instances=[instance("", 0.0)])
    assert not has_gold(task)
    assert bits(task, task.instances) is None


def test_an_impossible_answer_has_none() -> None:
    only = instance(" four", -inf)
    task = SimpleNamespace(OUTPUT_TYPE="loglikelihood", instances=[only])
    assert bits(task, [only]) is None


def test_it_is_shown_beside_the_tasks_metrics_and_gated_on_request_only() -> None:
    pytest.importorskip("lm_eval")
    from lm_eval.api.metrics import mean

    task = choice_task(0)
    task._filters = [SimpleNamespace(name="none")]
    task.aggregation = lambda: {"acc": mean}
    task.higher_is_better = lambda: {"acc": True}
    reducer = reducer_of(task)
    assert reducer.metrics("quiz") == ("quiz acc,none", "quiz gold_bits_per_byte,none")
    assert reducer.decides == "acc,none"
    kinds = reducer.kinds("quiz")
    assert kinds["quiz acc,none"].gated
    own = kinds["quiz gold_bits_per_byte,none"]
    assert (own.unit, own.higher_is_better, own.gated) == ("bits_per_byte", False, False)

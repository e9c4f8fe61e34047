"""Reducers: the trials of one sample become its value of each metric."""

from __future__ import annotations

import subprocess
import sys
from math import inf, isnan, log, nan

import pytest

from ckptbench import Reducer, first_choice, mean, pass_at_k, top_k
from ckptbench._util.errors import CkptbenchError
from ckptbench.api.requests import Filled, Likelihood
from ckptbench.scores.metric import BITS_PER_BYTE, SHARE, Metric
from ckptbench.scores.reducers import (
    FirstChoice,
    Mean,
    Named,
    bits_per_byte,
    estimate_pass_at_k,
    kinds_of,
    reducer_of,
    spec_of,
    value_names,
    with_bits_per_byte,
)

# pass@k


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [(10, 3, 1, 0.3), (10, 3, 5, 0.916667), (10, 3, 10, 1.0), (200, 1, 1, 0.005)],
)
def test_check_figures(n: int, c: int, k: int, value: float) -> None:
    assert estimate_pass_at_k(n, c, k) == pytest.approx(value, abs=5e-7)


def test_more_trials_than_were_drawn_do_not_exist() -> None:
    assert estimate_pass_at_k(2, 0, 5) is None
    assert estimate_pass_at_k(2, 2, 5) is None


def test_pass_at_1_is_exactly_the_share_that_passed() -> None:
    assert all(estimate_pass_at_k(n, c, 1) == c / n for n in range(1, 40) for c in range(n + 1))


def test_none_passed_is_exactly_0_and_too_few_misses_to_fill_k_is_exactly_1() -> None:
    assert estimate_pass_at_k(100, 0, 10) == 0.0
    assert estimate_pass_at_k(100, 91, 10) == 1.0


def test_huge_n_neither_overflows_nor_cancels() -> None:
    """With c a tiny share of n, pass@k is close to k c / n."""
    assert estimate_pass_at_k(10**15, 3, 100) == pytest.approx(300 / 10**15, rel=1e-9)
    assert estimate_pass_at_k(20_000, 10_000, 2_000) == 1.0


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="0 <= c <= n"):
        estimate_pass_at_k(n, c, k)


def test_pass_at_k_reduces_trials_and_leaves_out_what_does_not_exist() -> None:
    reducer = pass_at_k(1, 2, 5)
    assert reducer.metrics("humaneval") == ("pass@1", "pass@2", "pass@5")
    assert reducer.reduce([(1.0,), (0.0,), (0.0,)]) == (1 / 3, pytest.approx(2 / 3), None)


def test_a_trial_with_part_of_the_credit_has_not_passed() -> None:
    assert pass_at_k(1).reduce([(0.99,)]) == (0.0,)


def test_the_function_of_a_pass_at_k_benchmark_is_not_called_with_k() -> None:
    assert pass_at_k(1, 10).ks == ()
    assert pass_at_k(1, 10).with_ks((3,)) == pass_at_k(3)


# top_k and mean


def test_top_k_names_its_metrics_after_the_benchmark() -> None:
    assert top_k().metrics("real") == ("real@1", "real@5")
    assert top_k(1).metrics("lambada") == ("lambada@1",)
    assert top_k(1, 5).ks == (1, 5)
    assert top_k(1, 5).with_ks((10,)) == top_k(10)


def test_top_k_keeps_the_value_of_one_trial_and_averages_several() -> None:
    assert top_k(1, 5).reduce([(0.0, 1.0)]) == (0.0, 1.0)
    assert top_k(1, 5).reduce([(0.0, 1.0), (1.0, 1.0)]) == (0.5, 1.0)


def test_mean_is_named_after_the_benchmark_or_as_told() -> None:
    assert mean().metrics("summary") == ("summary",)
    assert mean("f1").metrics("summary") == ("f1",)
    assert mean().reduce([(0.25,), (0.5,)]) == (0.375,)
    assert mean().with_ks((3,)) == mean()


@pytest.mark.parametrize("reducer", [top_k(1, 5), mean(), pass_at_k(1, 5)])
def test_no_trial_is_no_value(reducer: object) -> None:
    assert set(reducer.reduce([])) == {None}  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", [top_k, pass_at_k])
@pytest.mark.parametrize("ks", [(0,), (1, 1), (-3, 5)])
def test_impossible_values_of_k_are_refused(make: object, ks: tuple[int, ...]) -> None:
    with pytest.raises(CkptbenchError, match="different whole numbers from 1"):
        make(*ks)  # type: ignore[operator]


def test_naming_a_reducer_loads_no_numpy() -> None:
    code = (
        "import sys; from ckptbench import top_k, pass_at_k, mean; top_k(1); pass_at_k(1);"
        "mean(); import ckptbench.gate.verdict, ckptbench.gate.baseline;"
        "print([m for m in ('numpy', 'scipy', 'pydantic', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# the first choice, and how likely it was


def test_the_first_choice_and_its_perplexity_are_metrics_of_the_benchmark() -> None:
    reducer = first_choice()
    assert reducer.metrics("lambada") == ("lambada@1", "lambada_perplexity")
    assert reducer.ks == (1,)


def test_a_trial_has_the_functions_word_and_the_log_likelihood() -> None:
    assert value_names(first_choice(), "lambada") == ("lambada@1", "log_likelihood")
    assert FirstChoice().observe(Likelihood(-2.5, False, 2), "") == (-2.5,)
    assert first_choice().reduce([(1.0, -2.0), (0.0, -4.0)]) == (0.5, -3.0)
    assert first_choice().reduce([]) == (None, None)


def test_a_trial_of_other_scores_has_values_of_its_metrics() -> None:
    assert value_names(top_k(1, 5), "real") == ("real@1", "real@5")


# bits per byte of the right answer


def test_bits_per_byte_divide_by_the_bytes_of_the_text() -> None:
    assert bits_per_byte(-6 * log(2), "한국") == pytest.approx(1.0)  # six bytes in UTF-8
    assert bits_per_byte(-log(4), " a") == pytest.approx(1.0)
    assert bits_per_byte(0.0, "a") == 0.0


@pytest.mark.parametrize(("logprob", "text"), [(None, "a"), (-inf, "a"), (nan, "a"), (-1.0, "")])
def test_without_a_likelihood_or_a_text_there_are_none(logprob: float | None, text: str) -> None:
    assert isnan(bits_per_byte(logprob, text))


def test_they_stand_behind_the_shares_and_are_not_gated() -> None:
    reducer = with_bits_per_byte(top_k(1, 5))
    assert reducer.metrics("real") == ("real@1", "real@5", "real_bits_per_byte")
    assert value_names(reducer, "real") == ("real@1", "real@5", "bits_per_byte")
    assert kinds_of(reducer, "real") == {"real_bits_per_byte": BITS_PER_BYTE}
    assert not BITS_PER_BYTE.gated
    assert reducer.reduce([(1.0, 1.0, 2.0), (0.0, 1.0, 4.0)]) == (0.5, 1.0, 3.0)
    assert reducer.reduce([]) == (None, None, None)
    assert reducer.with_ks((1,)).metrics("real") == ("real@1", "real_bits_per_byte")
    assert reducer_of(spec_of(reducer)) == reducer


def test_they_stand_behind_the_perplexity() -> None:
    reducer = with_bits_per_byte(first_choice())
    assert reducer.metrics("lambada") == (
        "lambada@1",
        "lambada_perplexity",
        "lambada_bits_per_byte",
    )
    assert value_names(reducer, "lambada") == ("lambada@1", "log_likelihood", "bits_per_byte")
    observed = reducer.observe(Likelihood(-4 * log(2), False, 2), " abc")
    assert observed == (-4 * log(2), pytest.approx(1.0, abs=0.004))  # rounded to 0.02 nats
    assert set(kinds_of(reducer, "lambada")) == {"lambada_perplexity", "lambada_bits_per_byte"}
    assert reducer.reduce([]) == (None, None, None)
    assert reducer_of(spec_of(reducer)) == reducer


def test_they_are_read_from_a_filled_blank() -> None:
    reducer = with_bits_per_byte(top_k(1))
    scored = Filled(("x",), (-0.1,), None, 1, answer_logprob=-3 * log(2))
    assert reducer.observe(scored, "한") == pytest.approx((1.0,))
    (none,) = reducer.observe(Filled(("x",), (-0.1,), None, 1), "한")
    assert isnan(none)


@pytest.mark.parametrize("reducer", [mean(), pass_at_k(1)])
def test_other_reducers_have_no_right_answer_to_score(reducer: Reducer) -> None:
    assert with_bits_per_byte(reducer) is reducer


def test_a_run_of_before_folds_as_it_did() -> None:
    assert reducer_of({"reducer": "top_k", "ks": [1, 5]}) == top_k(1, 5)
    assert reducer_of({"reducer": "first_choice"}) == first_choice()


def test_a_likelihood_tells_of_the_first_choice_only() -> None:
    assert Likelihood(-0.1, True, 1).within(1)
    assert not Likelihood(-0.1, False, 1).within(1)
    with pytest.raises(ValueError, match="not of the first 5"):
        Likelihood(-0.1, True, 1).within(5)


def test_named_values_are_averaged_each_for_itself() -> None:
    reducer = Named(("exact_match,strict", "exact_match,loose"), "exact_match,strict", ("bleu",))
    assert reducer.metrics("gsm8k") == ("gsm8k exact_match,strict", "gsm8k exact_match,loose")
    assert reducer.reduce([(1.0, 1.0), (0.0, 1.0)]) == (0.5, 1.0)
    assert reducer.reduce([]) == (None, None)
    assert value_names(reducer, "gsm8k") == reducer.metrics("gsm8k")


@pytest.mark.parametrize("reducer", [top_k(1), pass_at_k(1), mean(), first_choice()])
def test_a_reducer_says_whether_it_takes_another_k(reducer: Reducer) -> None:
    changed = reducer.with_ks((1, 7))
    assert reducer.takes_k is (changed != reducer)
    assert any("@7" in name for name in changed.metrics("b")) is reducer.takes_k


def test_of_a_mean_more_is_better_unless_it_is_declared_otherwise() -> None:
    assert kinds_of(mean("m"), "b") == kinds_of(Mean("m"), "b") == {"m": SHARE}
    down = mean("m", unit="nats", higher_is_better=False)
    assert kinds_of(down, "b") == {"m": Metric("nats", higher_is_better=False)}


def test_trials_of_unequal_width_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        mean().reduce([(1.0,), (1.0, 0.0)])


def test_without_a_k_there_are_the_usual_ones() -> None:
    assert pass_at_k().metrics("b") == ("pass@1", "pass@5", "pass@10")
    assert top_k().metrics("b") == ("b@1", "b@5")

"""The draw of a token: distribution, cut, independence of the batch, and its certainty."""

from __future__ import annotations

from typing import Any

import pytest

from ckptbench.fixtures.engines.causal.sampling import NextTokens, SamplingState, choose, gumbel

LOGITS = (2.0, 1.0, 0.5, 0.0, -1.0)


def drawn(
    n: int, temperature: float = 1.0, top_p: float = 1.0, logits: tuple[float, ...] = LOGITS
) -> Any:
    """Tokens that n seeds draw."""
    import torch

    sampling = SamplingState.of([(temperature, top_p, seed) for seed in range(n)], "cpu")
    return choose(torch.tensor([logits] * n), sampling, step=0, rounding=0.0).ids


def shares(ids: Any, n: int) -> list[float]:
    return [float((ids == token).sum()) / n for token in range(len(LOGITS))]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_as_often_as_the_softmax_says(temperature: float) -> None:
    import torch
    from scipy.stats import chisquare

    n = 20_000
    wanted = (torch.tensor(LOGITS).double() / temperature).softmax(0)
    seen = [share * n for share in shares(drawn(n, temperature), n)]
    assert chisquare(seen, (wanted / wanted.sum() * n).tolist()).pvalue > 1e-3


def test_steps_and_tokens_are_independent() -> None:
    import torch
    from scipy.stats import kstest

    seeds = SamplingState.of([(1.0, 1.0, seed) for seed in range(50)], "cpu").seeds
    noise = torch.stack([gumbel(seeds, step, 400) for step in range(10)])
    assert kstest(noise.flatten().numpy(), "gumbel_r").pvalue > 1e-3
    flat = noise.permute(1, 0, 2)
    for pairs in (
        (flat[:-1], flat[1:]),
        (noise[:-1], noise[1:]),
        (noise[..., :-1], noise[..., 1:]),
    ):
        both = torch.stack([pair.flatten() for pair in pairs])
        assert abs(float(torch.corrcoef(both)[0, 1])) < 0.01


def test_temperature_zero_is_greedy_and_of_equals_takes_the_first() -> None:
    assert set(drawn(50, temperature=0.0).tolist()) == {0}
    assert set(drawn(50, temperature=0.0, logits=(0.0, 1.0, 1.0)).tolist()) == {1}


def test_top_p_draws_from_the_smallest_set_that_holds_it() -> None:
    """The softmax is 0.56, 0.21, 0.13, 0.08, 0.03."""
    n = 4000
    assert set(drawn(n, top_p=0.5).tolist()) == {0}
    assert set(drawn(n, top_p=0.7).tolist()) == {0, 1}
    assert set(drawn(n, top_p=0.8).tolist()) == {0, 1, 2}
    assert set(drawn(n, top_p=1.0).tolist()) == set(range(5))
    first, second, *_ = shares(drawn(n, top_p=0.7), n)
    assert first / second == pytest.approx(2.718, rel=0.15)


def test_the_temperature_is_applied_before_the_cut() -> None:
    assert set(drawn(500, temperature=5.0, top_p=0.5).tolist()) == {0, 1, 2}


def test_a_row_draws_the_same_whatever_stands_beside_it() -> None:
    import torch

    numbers = torch.Generator().manual_seed(0)
    logits = torch.randn((7, 300), generator=numbers)
    rows = [(t, p, seed) for seed, (t, p) in enumerate([(0.0, 1.0), (0.7, 0.9), (1.0, 1.0)] * 2)]
    rows.append((1.3, 0.5, -(2**40)))
    together = choose(logits, SamplingState.of(rows, "cpu"), step=4, rounding=1e-4).ids.tolist()
    for place, row in enumerate(rows):
        alone = choose(logits[place : place + 1], SamplingState.of([row], "cpu"), 4, rounding=1e-4)
        assert alone.ids.tolist() == [together[place]]


def test_rows_that_stay_keep_their_draws() -> None:
    import torch

    sampling = SamplingState.of([(1.0, 1.0, seed) for seed in range(6)], "cpu")
    logits = torch.zeros((6, 50))
    kept = torch.tensor([1, 4])
    whole = choose(logits, sampling, 3, 0.0).ids
    assert choose(logits[kept], sampling.rows(kept), 3, 0.0).ids.tolist() == whole[kept].tolist()


def one(logits: list[float], temperature: float, top_p: float, rounding: float) -> NextTokens:
    import torch

    return choose(
        torch.tensor([logits]), SamplingState.of([(temperature, top_p, 3)], "cpu"), 0, rounding
    )


def test_a_narrow_greedy_choice_is_not_certain() -> None:
    assert one([1.0, 0.9], 0.0, 1.0, 1e-3).certain.tolist() == [True]
    assert one([1.0, 0.9999], 0.0, 1.0, 1e-3).certain.tolist() == [False]
    assert one([1.0, 0.9999], 0.0, 1.0, 0.0).certain.tolist() == [True]


def test_whatever_is_certain_survives_rounding() -> None:
    """Logits are shaken by half of the rounding: a certain choice must not change."""
    import torch

    numbers = torch.Generator().manual_seed(1)
    rounding, n = 0.02, 3000
    logits = torch.randn((n, 40), generator=numbers) * 2
    settings = [(0.0, 1.0), (1.0, 1.0), (0.8, 0.9), (1.0, 0.5), (2.0, 0.95)]
    sampling = SamplingState.of([(*settings[i % 5], i) for i in range(n)], "cpu")
    before = choose(logits, sampling, 0, rounding)
    shaken = logits + (torch.rand(logits.shape, generator=numbers) - 0.5) * rounding
    after = choose(shaken, sampling, 0, 0.0)
    changed = before.ids != after.ids
    assert int(changed.sum()) > 10
    assert not bool((changed & before.certain).any())
    assert float(before.certain.float().mean()) > 0.7


def test_logits_that_are_not_finite_are_told_by_row() -> None:
    import torch

    logits = torch.zeros((4, 5))
    logits[1, 2] = float("nan")
    logits[2] = -torch.inf
    logits[3, 0] = -torch.inf
    sampling = SamplingState.of([(0.0, 1.0, 0), (1.0, 0.9, 0), (1.0, 1.0, 0), (1.0, 0.9, 0)], "cpu")
    assert choose(logits, sampling, 0, 1e-4).finite.tolist() == [True, False, False, True]

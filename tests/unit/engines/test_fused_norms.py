"""Fused norms: used where they compute the same as the model's own, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ckptbench import Generate, LogLikelihood
from ckptbench.fixtures.engines.batching import Budget
from ckptbench.fixtures.engines.causal import fused_norms
from ckptbench.fixtures.engines.causal.engine import CausalLMEngine
from ckptbench.fixtures.engines.causal.fused_norms import FusedNorms
from ckptbench.fixtures.engines.causal.generation import Generation, GenerationBudget
from ckptbench.fixtures.engines.causal.log_likelihood import LogLikelihoodScorer
from ckptbench.fixtures.engines.causal.slots import slot_forward
from ckptbench.fixtures.engines.causal.tree_forward import TreeForward

Load = Callable[..., Any]

GENERATED = [Generate("def add(a, b):\n", max_tokens=9)]
SCORED = [LogLikelihood("the sea is", ending) for ending in (" loud", " calm", " far away")]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The norms that were computed fused."""
    found: list[Any] = []
    fused = fused_norms._fused

    def counted(norm: Any, hidden: Any) -> Any:
        found.append(norm)
        return fused(norm, hidden)

    monkeypatch.setattr(fused_norms, "_fused", counted)
    return found


def test_norms_that_compute_something_else_are_left(load_causal: Load) -> None:
    import torch
    from transformers.models.gemma.modeling_gemma import GemmaRMSNorm

    model = load_causal("qwen2").model
    norms = FusedNorms(model).norms
    assert len(norms) == 1 + 2 * model.config.num_hidden_layers

    class OneMoreRMSNorm(type(norms[0])):  # type: ignore[misc]
        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            return super().forward(hidden) * 1.02

    others = torch.nn.ModuleList([OneMoreRMSNorm(8), GemmaRMSNorm(8), torch.nn.LayerNorm(8)])
    others.dtype = torch.float32
    assert FusedNorms(others).norms == []  # type: ignore[arg-type]
    norms[0].forward = norms[0].forward
    assert FusedNorms(model).norms == norms[1:]


def test_norms_that_stay_in_fp32_are_left(load_causal: Load) -> None:
    model = load_causal("qwen2", dtype="bf16").model
    first, *others = FusedNorms(model).norms
    others[-1].float()
    assert FusedNorms(model).norms == [first, *others[:-1]]
    first.float()
    assert FusedNorms(model).norms == others[:-1]


def test_steps_use_them_and_leave_the_models_own(load_causal: Load, calls: list[Any]) -> None:
    loaded = load_causal("qwen2")
    engine = CausalLMEngine(loaded)
    forward = engine._generation._forward
    budget = GenerationBudget(tokens=10**6, prompt_tokens=10**6, rows=1000)
    engine._generation = Generation(forward, engine._text, budget, 0.0, slot_forward(forward))
    calls.clear()
    assert list(engine.answer(GENERATED))
    norms = FusedNorms(loaded.model).norms
    assert set(norms) <= set(calls)
    assert not [norm for norm in norms if "forward" in vars(norm)]


def test_texts_are_scored_with_them_where_the_precision_is_low(
    load_causal: Load, calls: list[Any]
) -> None:
    import torch

    loaded = load_causal("qwen2", dtype="bf16")
    wanted = dict(CausalLMEngine(loaded).answer(SCORED))
    assert not calls
    engine = CausalLMEngine(loaded)
    forward = TreeForward(loaded.model, 0, fused_norms=True)
    engine._scoring = LogLikelihoodScorer(forward, Budget(10**5, 10**8), 0.0, trunk_saves=32)
    found = dict(engine.answer(SCORED))
    norms = FusedNorms(loaded.model).norms
    assert set(norms) <= set(calls)
    assert not [norm for norm in norms if "forward" in vars(norm)]
    for index, answer in wanted.items():
        assert found[index].logprob == pytest.approx(answer.logprob, rel=0.02)
    assert loaded.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("dtype", "exact", "fused"),
    [("fp32", False, False), ("bf16", True, False), ("bf16", False, True)],
)
def test_the_models_own_digits_are_kept_in_fp32_and_where_they_are_asked_for(
    load_causal: Load, dtype: str, exact: bool, fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = CausalLMEngine(load_causal("qwen2", dtype=dtype), exact=exact)
    monkeypatch.setattr(engine, "_on_gpu", True)
    assert (engine._scoring._forward._norms is not None) == fused

"""Names of checkpoints tell steps and epochs, and sort the way a person sorts them."""

from __future__ import annotations

import pytest

from ckptbench._util.names import epoch_in, name_list, natural_key, step_in


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("checkpoint-655", 655),
        ("checkpoint_655.pt", 655),
        ("ckpt-12", 12),
        ("step_655", 655),
        ("global_step655", 655),
        ("iter_0000655", 655),
        ("epoch=3-step=655.pt", 655),
        ("checkpoint-2-step-655", 655),
        ("model_iteration_40.pth", 40),
        ("checkpoint_epoch_3.pt", None),
        ("checkpoint_best.pt", None),
        ("checkpoint-best", None),
        ("llama-7b", None),
        ("footstep-3", None),
        ("checkpoint-1-step-900", 900),
        ("global_step1000", 1000),
        ("step_1000.pt", 1000),
        ("iter_0001000", 1000),
        ("epoch=3-step=1200.ckpt", 1200),
        ("model-step-500-v2", 500),
        ("ckpt_500_best", 500),
        ("step143000", 143_000),
        ("stage2-ingredient1-step23852-tokens51B", 23_852),
        ("20240501_step_2000", 2000),
        ("checkpoint-1000-merged", 1000),
        ("revision=step1000", 1000),
        ("runs/a/step_40", 40),
        ("EleutherAI/pythia-160m", None),
        ("qwen2.5-0.5b", None),
        ("model-7b", None),
        ("checkpoint-100k", None),
    ],
)
def test_a_name_states_a_step_or_none(name: str, step: int | None) -> None:
    assert step_in(name) == step


@pytest.mark.parametrize(
    ("name", "epoch"),
    [
        ("checkpoint_epoch_3.pt", 3.0),
        ("epoch-10", 10.0),
        ("epoch=2-step=655.pt", 2.0),
        ("epoch_0.5", 0.5),
        ("epoch=3-step=1200.ckpt", 3.0),
        ("checkpoint-2-step-655", None),
        ("checkpoint-655", None),
        ("epochal", None),
    ],
)
def test_a_name_states_an_epoch_or_none(name: str, epoch: float | None) -> None:
    assert epoch_in(name) == epoch


def test_numbers_in_names_sort_by_value() -> None:
    names = ["run-10/a", "run-9/b", "Run-9/a", "run", "lr-3e-5", "lr-3e-4"]
    assert sorted(names, key=natural_key) == [
        "lr-3e-4",
        "lr-3e-5",
        "run",
        "Run-9/a",
        "run-9/b",
        "run-10/a",
    ]


@pytest.mark.parametrize(
    ("names", "of", "told"),
    [
        (["a"], 5, "a"),
        (["a", "b", "c"], 3, "a, b, c"),
        (list("abcd"), 4, "all 4 checkpoints"),
        (list("abcd"), 20, "a, b and 2 other checkpoints"),
    ],
)
def test_what_is_true_of_many_names_few(names: list[str], of: int, told: str) -> None:
    assert name_list(names, of) == told

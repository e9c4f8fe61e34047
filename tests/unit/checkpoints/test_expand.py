"""`--checkpoint` takes paths, patterns and run folders; nothing vanishes in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.expand import CheckpointResolver, Expansion, expand
from ckptbench.checkpoints.found import named


def is_checkpoint(path: Path) -> bool:
    return (path / "config.json").is_file() or (path.suffix == ".pt" and "optim" not in path.name)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that the user stands in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def known(tmp_path_factory: pytest.TempPathFactory) -> CheckpointResolver:
    """What is a checkpoint, and a demo with two of them."""
    demo = tmp_path_factory.mktemp("suite [1]") / "demo-mlm"
    for step in (100, 90):
        folder(demo / f"checkpoint-{step}")
    return CheckpointResolver(
        is_checkpoint,
        lambda spec: demo / "checkpoint-100" if spec == "demo-mlm" else None,
        lambda spec: demo if spec == "demo-mlm" else None,
    )


def folder(path: Path, **state: float) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}")
    if state:
        (path / "trainer_state.json").write_text(json.dumps(state))
    return path


def file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    return path


def specs(expansion: Expansion) -> list[str]:
    return [each.spec for each in expansion.found]


def places(expansion: Expansion) -> list[tuple[str, int | None, float | None]]:
    return [(each.run, each.step, each.epoch) for each in expansion.found]


def names(expansion: Expansion) -> list[str]:
    return [param.name for param in named(expansion.found)]


# What is matched


def test_a_pattern_gives_a_runs_checkpoints_by_step(here: Path, known: CheckpointResolver) -> None:
    for step in (1000, 90, 200):
        folder(here / f"runs/x/checkpoint-{step}")
    found = expand(["runs/x/checkpoint-*"], known)
    assert specs(found) == [f"runs/x/checkpoint-{step}" for step in (90, 200, 1000)]
    assert places(found) == [("x", step, None) for step in (90, 200, 1000)]
    assert names(found) == ["checkpoint-90", "checkpoint-200", "checkpoint-1000"]
    assert found.notes == ()


def test_runs_come_in_natural_order_and_their_checkpoints_stay_together(
    here: Path, known: CheckpointResolver
) -> None:
    for run, step in (("run-10", 5), ("run-9", 100), ("run-9", 20)):
        folder(here / f"runs/{run}/checkpoint-{step}")
    found = expand(["runs/*/checkpoint-*"], known)
    assert [(run, step) for run, step, _ in places(found)] == [
        ("run-9", 20),
        ("run-9", 100),
        ("run-10", 5),
    ]


def test_one_file_of_each_run(here: Path, known: CheckpointResolver) -> None:
    for run in ("b", "a"):
        file(here / f"storage/checkpoints/{run}/checkpoint_best.pt")
    found = expand(["storage/checkpoints/*/checkpoint_best.pt"], known)
    assert [run for run, _, _ in places(found)] == ["a", "b"]
    assert names(found) == ["a_checkpoint_best.pt", "b_checkpoint_best.pt"]


def test_options_keep_their_order_and_what_two_of_them_match_is_asked_once(
    here: Path, known: CheckpointResolver
) -> None:
    for step in (1, 2, 3):
        folder(here / f"checkpoint-{step}")
    found = expand(["checkpoint-3", "checkpoint-[12]", "./checkpoint-*"], known)
    assert specs(found) == ["checkpoint-3", "checkpoint-1", "checkpoint-2"]


def test_a_link_to_a_checkpoint_is_told_and_asked_once(
    here: Path, known: CheckpointResolver
) -> None:
    folder(here / "checkpoint-7")
    (here / "checkpoint-best").symlink_to("checkpoint-7")
    found = expand(["checkpoint-*"], known)
    assert specs(found) == ["checkpoint-7"]
    assert found.notes == ("checkpoint-best is checkpoint-7: it is asked once",)


def test_two_stars_match_at_any_depth(here: Path, known: CheckpointResolver) -> None:
    for path in ("a/checkpoint-1", "a/b/c/checkpoint-2"):
        folder(here / path)
    assert specs(expand(["**/checkpoint-*"], known)) == ["a/checkpoint-1", "a/b/c/checkpoint-2"]


def test_a_place_elsewhere_stays_absolute(
    here: Path, known: CheckpointResolver, tmp_path_factory: Any
) -> None:
    far = folder(tmp_path_factory.mktemp("far") / "checkpoint-1")
    assert specs(expand([f"{far.parent}/checkpoint-*"], known)) == [str(far)]


def test_steps_of_the_demo(known: CheckpointResolver, here: Path) -> None:
    found = expand(["demo-mlm/checkpoint-*"], known)
    assert specs(found) == ["demo-mlm/checkpoint-90", "demo-mlm/checkpoint-100"]
    assert places(found) == [("demo-mlm", 90, None), ("demo-mlm", 100, None)]


def test_a_path_with_brackets_that_exists_is_no_pattern(
    here: Path, known: CheckpointResolver
) -> None:
    folder(here / "run [lr 3e-4]")
    assert specs(expand(["run [lr 3e-4]"], known)) == ["run [lr 3e-4]"]


@pytest.mark.parametrize("spec", ["https://host/v1?model=*", "a-model-of-a-conftest"])
def test_what_is_no_path_is_left_to_whoever_loads_it(
    here: Path, known: CheckpointResolver, spec: str
) -> None:
    found = expand([spec], known)
    assert specs(found) == [spec]
    assert places(found) == [("", None, None)]


def test_adapters_are_matched_on_their_base(here: Path, known: CheckpointResolver) -> None:
    for step in (20, 9):
        folder(here / f"lora/checkpoint-{step}")
    found = expand(["base+adapter=lora/checkpoint-*"], known)
    assert specs(found) == [f"base+adapter=lora/checkpoint-{step}" for step in (9, 20)]
    assert places(found) == [("lora", 9, None), ("lora", 20, None)]
    both = expand(["a+adapter=lora/checkpoint-9", "b+adapter=lora/checkpoint-9"], known)
    assert len(both.found) == 2


def test_runs_of_one_name_get_longer_ones(here: Path, known: CheckpointResolver) -> None:
    for path in ("x/out", "y/out"):
        folder(here / path / "checkpoint-1")
    found = expand(["*/out/checkpoint-1"], known)
    assert [run for run, _, _ in places(found)] == ["x/out", "y/out"]


# Step and epoch


def test_a_trainers_state_tells_the_epoch_and_the_step_where_the_name_does_not(
    here: Path, known: CheckpointResolver
) -> None:
    folder(here / "checkpoint-655", global_step=655, epoch=0.5)
    folder(here / "checkpoint-best", global_step=400, epoch=0.3)
    found = expand(["checkpoint-*"], known)
    assert places(found) == [(here.name, 400, 0.3), (here.name, 655, 0.5)]


def test_files_of_epochs_sort_by_epoch_and_the_others_come_last(
    here: Path, known: CheckpointResolver
) -> None:
    for name in ("checkpoint_epoch_10.pt", "checkpoint_best.pt", "checkpoint_epoch_9.pt"):
        file(here / name)
    found = expand(["checkpoint_*.pt"], known)
    assert [epoch for _, _, epoch in places(found)] == [9.0, 10.0, None]


def test_a_damaged_trainers_state_is_told(here: Path, known: CheckpointResolver) -> None:
    (folder(here / "checkpoint-1") / "trainer_state.json").write_text("{")
    (note,) = expand(["checkpoint-1"], known).notes
    assert "checkpoint-1/trainer_state.json cannot be read" in note


# A run's folder


@pytest.mark.parametrize("given", ["bad\udcff/checkpoint-5", "bad\udcff/checkpoint-*"])
def test_a_path_that_is_no_utf_8_is_refused(
    here: Path, known: CheckpointResolver, given: str
) -> None:
    folder(here / "bad\udcff" / "checkpoint-5")
    error = refusal([given], known)
    assert error.what.endswith("bad\\udcff/checkpoint-5' is no UTF-8")
    assert "ln -s" in error.remedy
    str(error).encode()
    (here / "good").symlink_to("bad\udcff/checkpoint-5")
    assert specs(expand(["good"], known)) == ["good"]


def test_folders_above_a_pattern_are_taken_by_their_names(
    here: Path, known: CheckpointResolver
) -> None:
    for run in ("p/run[lr=1e-4]", "p/run=", "p/a*b [v1]/x"):
        folder(here / run / "checkpoint-5")
    found = expand(["p/run[lr=1e-4]/checkpoint-*"], known)
    assert specs(found) == ["p/run[lr=1e-4]/checkpoint-5"]
    found = expand([f"{here}/p/a*b [v1]/*/checkpoint-*"], known)
    assert specs(found) == ["p/a*b [v1]/x/checkpoint-5"]
    # What is not there under its name is a pattern.
    assert specs(expand(["p/run[=]/checkpoint-*"], known)) == ["p/run=/checkpoint-5"]
    error = refusal(["p/run[lr=1e-4]/epoch-*"], known)
    assert "there is no 'epoch-*'" in error.what
    assert f"{here}/p/run[lr=1e-4] holds checkpoint-5" in error.remedy


def test_a_pattern_for_the_inside_of_run_folders(here: Path, known: CheckpointResolver) -> None:
    for epoch in (1, 2):
        file(here / f"run/checkpoint_epoch_{epoch}.pt")
    file(here / "run/checkpoint_best.pt")
    found = expand(["run/"], known, pattern="checkpoint_epoch_*.pt")
    assert specs(found) == ["run/checkpoint_epoch_1.pt", "run/checkpoint_epoch_2.pt"]


def test_it_is_matched_inside_the_demo_too(here: Path, known: CheckpointResolver) -> None:
    found = expand(["demo-mlm"], known, pattern="checkpoint-9*")
    assert specs(found) == ["demo-mlm/checkpoint-90"]


def test_a_run_that_holds_a_checkpoint_itself_is_looked_into(
    here: Path, known: CheckpointResolver
) -> None:
    folder(here / "run")
    folder(here / "run/checkpoint-5")
    assert specs(expand(["run"], known, pattern="checkpoint-*")) == ["run/checkpoint-5"]
    assert specs(expand(["run"], known)) == ["run"]


def test_a_file_given_beside_a_run_stays_a_file(here: Path, known: CheckpointResolver) -> None:
    folder(here / "run/checkpoint-5")
    file(here / "base.pt")
    found = expand(["base.pt", "run"], known, pattern="checkpoint-*")
    assert specs(found) == ["base.pt", "run/checkpoint-5"]


# From a step on


def test_earlier_steps_are_left_out_and_counted(here: Path, known: CheckpointResolver) -> None:
    for step in (100, 200, 300, 400):
        folder(here / f"run/checkpoint-{step}")
    found = expand(["run/checkpoint-*"], known, from_step=300)
    assert [step for _, step, _ in places(found)] == [300, 400]
    assert found.notes == (
        "run/checkpoint-*: 2 checkpoints before step 300 left out (--from-step)",
    )


def test_a_runs_folder_from_a_step_on(here: Path, known: CheckpointResolver) -> None:
    for step in (100, 300):
        folder(here / f"run/checkpoint-{step}")
    assert specs(expand(["run"], known, from_step=300)) == ["run/checkpoint-300"]


def test_what_states_no_step_is_kept_and_told(here: Path, known: CheckpointResolver) -> None:
    file(here / "checkpoint_best.pt")
    found = expand(["*.pt"], known, from_step=300)
    assert specs(found) == ["checkpoint_best.pt"]
    assert found.notes == (
        "*.pt: kept despite --from-step, as the step is unknown: checkpoint_best.pt",
    )


# What is no checkpoint


def test_what_a_pattern_matches_beside_checkpoints_is_told(
    here: Path, known: CheckpointResolver
) -> None:
    file(here / "run/model.pt")
    file(here / "run/optimizer.pt")
    (here / "run/checkpoint-temp.pt.d").mkdir()
    found = expand(["run/*"], known)
    assert specs(found) == ["run/model.pt"]
    assert found.notes == (
        "run/* also matches what is no checkpoint: run/checkpoint-temp.pt.d, run/optimizer.pt",
    )


def test_matches_of_no_known_kind_are_left_to_whoever_loads_them(
    here: Path, known: CheckpointResolver
) -> None:
    for step in (10, 9):
        file(here / f"model-{step}.bin")
    assert specs(expand(["model-*.bin"], known)) == ["model-9.bin", "model-10.bin"]


# Refusals


def refusal(specs: list[str], known: CheckpointResolver, **options: Any) -> CkptbenchError:
    with pytest.raises(CkptbenchError) as refused:
        expand(specs, known, **options)
    return refused.value


def test_a_pattern_without_a_match_shows_what_is_in_the_folder(
    here: Path, known: CheckpointResolver
) -> None:
    for name in ("checkpoints-100", "checkpoints-2", "logs"):
        (here / "runs/x" / name).mkdir(parents=True)
    error = refusal(["runs/*/checkpoint-*"], known)
    assert error.where == "--checkpoint"
    assert error.what == "runs/*/checkpoint-* matches nothing: there is no 'checkpoint-*'"
    assert error.remedy == (
        f"{here}/runs/x holds checkpoints-2, checkpoints-100, logs; "
        "nearest: checkpoints-2, checkpoints-100"
    )


def test_a_folder_that_is_misspelled_is_answered_with_the_nearest(
    here: Path, known: CheckpointResolver
) -> None:
    (here / "runs").mkdir()
    error = refusal(["rums/*/checkpoint-*"], known)
    assert "there is no 'rums'" in error.what
    assert error.remedy == f"{here} holds runs; nearest: runs"


def test_of_several_folders_the_one_with_something_near_is_shown(
    here: Path, known: CheckpointResolver
) -> None:
    (here / "runs/a/logs").mkdir(parents=True)
    (here / "runs/b/chekpoint-1").mkdir(parents=True)
    error = refusal(["runs/*/checkpoint-*"], known)
    assert "(2 folders were looked into)" in error.what
    assert error.remedy == f"{here}/runs/b holds chekpoint-1; nearest: chekpoint-1"


def test_an_empty_folder_is_named_as_such(here: Path, known: CheckpointResolver) -> None:
    (here / "run").mkdir()
    assert refusal(["run"], known, pattern="*.pt").remedy == f"{here}/run is empty"


def test_a_step_after_the_last_is_answered_with_the_last(
    here: Path, known: CheckpointResolver
) -> None:
    folder(here / "run/checkpoint-200")
    error = refusal(["run/checkpoint-*"], known, from_step=300)
    assert error.where == "--from-step"
    assert error.remedy == "give a step of at most 200"


@pytest.mark.parametrize("option", [{"pattern": "*.pt"}, {"from_step": 300}])
def test_options_that_have_nothing_to_choose_from_are_refused(
    here: Path, known: CheckpointResolver, option: Any
) -> None:
    folder(here / "checkpoint-1") if "from_step" in option else file(here / "checkpoint-1")
    error = refusal(["checkpoint-1"], known, **option)
    assert error.where in ("--checkpoint-pattern", "--from-step")
    assert "nothing to choose from: --checkpoint is checkpoint-1" in error.what


def test_files_of_lightning_are_matched_and_ordered_by_step(
    here: Path, known: CheckpointResolver
) -> None:
    from dataclasses import replace

    from ckptbench.fixtures.checkpoints import resolve

    names = ("epoch=1-step=900", "epoch=0-step=450", "epoch=2-step=1350", "lr_scheduler", "last")
    for name in names:
        file(here / f"run/checkpoints/{name}.ckpt")
    ours = replace(known, is_checkpoint=resolve.is_checkpoint)
    found = expand(["run/checkpoints/*.ckpt"], ours)
    assert [(Path(each.spec).stem, each.step, each.epoch) for each in found.found] == [
        ("epoch=0-step=450", 450, 0.0),
        ("epoch=1-step=900", 900, 1.0),
        ("epoch=2-step=1350", 1350, 2.0),
        ("last", None, None),
    ]
    assert "no checkpoint: checkpoints/lr_scheduler.ckpt" in found.notes[0]
    inside = expand(["run/checkpoints"], ours, pattern="epoch=*.ckpt", from_step=900)
    assert [each.step for each in inside.found] == [900, 1350]

from pathlib import Path

import pytest

import ckptbench.benchmarks
from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.kind import Checkpoint
from ckptbench.fixtures.checkpoints.huggingface import HUGGING_FACE, TORCH_FILE
from ckptbench.fixtures.checkpoints.resolve import resolve


def checkpoint_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


@pytest.fixture
def demos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed suite with the demo checkpoints 100, 900 and 1000."""
    monkeypatch.setattr(ckptbench.benchmarks, "__path__", [str(tmp_path / "suite")])
    for step in (100, 1000, 900):
        checkpoint_folder(tmp_path / "suite" / "demo" / "demo-mlm" / f"checkpoint-{step}")
    return tmp_path / "suite" / "demo" / "demo-mlm"


def refusal(spec: str) -> CkptbenchError:
    with pytest.raises(CkptbenchError) as refused:
        resolve(spec)
    assert refused.value.where == "--checkpoint"
    return refused.value


def test_a_folder_with_a_configuration_is_a_checkpoint(tmp_path: Path) -> None:
    folder = checkpoint_folder(tmp_path / "run 1" / "checkpoint-655")
    assert resolve(str(folder)) == Checkpoint(str(folder), folder, HUGGING_FACE)


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkpoint_folder(tmp_path / "checkpoint-3"))
    assert resolve(".").path == tmp_path / "checkpoint-3"


def test_a_demo_is_the_newest_of_its_training(demos: Path) -> None:
    found = resolve("demo-mlm")
    assert found.path == demos / "checkpoint-1000"
    assert found.spec == "demo-mlm"


def test_a_step_of_a_demo_has_a_name(demos: Path) -> None:
    assert resolve("demo-mlm/checkpoint-100").path == demos / "checkpoint-100"


def test_a_step_that_a_demo_lacks_is_answered_with_those_it_has(demos: Path) -> None:
    refused = refusal("demo-mlm/checkpoint-300")
    assert refused.what == "demo-mlm/checkpoint-300 does not exist"
    assert "checkpoint-100" in refused.remedy


def test_a_path_that_does_not_exist_is_answered_with_its_neighbours(tmp_path: Path) -> None:
    for name in ("checkpoint-600", "checkpoint-650"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    (tmp_path / "checkpoint-655.log").touch()
    (tmp_path / "logs").mkdir()
    refused = refusal(str(tmp_path / "checkpoint-655"))
    assert "checkpoint-655 does not exist" in refused.what
    assert "checkpoint-650" in refused.remedy
    assert "log" not in refused.remedy


def test_a_folder_that_does_not_exist_is_answered_with_the_nearest_that_does(
    tmp_path: Path,
) -> None:
    (tmp_path / "runs").mkdir()
    refused = refusal(str(tmp_path / "rums" / "a" / "checkpoint-1"))
    assert f"nearest in {tmp_path}: runs" in refused.remedy


def test_a_folder_of_checkpoints_is_answered_with_its_newest(tmp_path: Path) -> None:
    for step in (90, 1000):
        checkpoint_folder(tmp_path / f"checkpoint-{step}")
    refused = refusal(str(tmp_path))
    assert "holds 2 checkpoints but is none itself: it has no config.json" in refused.what
    assert refused.remedy.endswith("checkpoint-1000")


def test_another_kind_is_answered_with_what_is_accepted(demos: Path, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"x")
    refused = refusal(str(tmp_path / "model.onnx"))
    assert refused.what.endswith("it is a file")
    assert refused.remedy == (
        "give one of: a Hugging Face folder with config.json; a .pt, .pth or .ckpt file of a "
        "training run; an adapter's folder with adapter_config.json; a GGUF file (with --serve); "
        "a server's address; 'demo-mlm'"
    )


@pytest.mark.parametrize(
    "name", ["checkpoint_best.pt", "checkpoint_epoch_3.pt", "model.pth", "epoch=3-step=655.ckpt"]
)
def test_a_file_of_a_training_run_is_a_checkpoint(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")
    found = resolve(str(tmp_path / name))
    assert found == Checkpoint(str(tmp_path / name), tmp_path / name, TORCH_FILE)


def test_a_folder_of_such_files_is_answered_with_the_best(tmp_path: Path) -> None:
    for name in ("checkpoint_epoch_1.pt", "checkpoint_best.pt", "checkpoint_final.pt"):
        (tmp_path / name).write_bytes(b"x")
    refused = refusal(str(tmp_path))
    assert "holds 3 checkpoint files but is none itself" in refused.what
    assert refused.remedy.endswith("checkpoint_best.pt")


def test_an_empty_folder_is_named_as_such(tmp_path: Path) -> None:
    assert refusal(str(tmp_path)).what.endswith("a folder holding nothing")


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".ckpt"])
def test_what_trainers_put_beside_weights_is_no_checkpoint(suffix: str, tmp_path: Path) -> None:
    from ckptbench.fixtures.checkpoints.resolve import is_checkpoint

    names = {"optimizer": False, "rng_state_0": False, "lr_scheduler": False, "last": True}
    for name, meant in names.items():
        (tmp_path / f"{name}{suffix}").write_bytes(b"x")
        assert is_checkpoint(tmp_path / f"{name}{suffix}") is meant
    (tmp_path / "last.txt").write_bytes(b"x")
    assert not is_checkpoint(tmp_path / "last.txt")


@pytest.mark.parametrize("mark", ["zero_to_fp32.py", ".metadata", "checkpoint/.metadata"])
def test_a_checkpoint_in_parts_is_answered_with_how_to_join_them(mark: str, tmp_path: Path) -> None:
    file = tmp_path / "epoch=3.ckpt" / mark
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x")
    refused = refusal(str(tmp_path / "epoch=3.ckpt"))
    assert "in parts" in refused.what
    assert "zero_to_fp32.py DIR OUT" in refused.remedy

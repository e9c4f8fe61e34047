"""A checkpoint that is replaced while it is loaded: its answers must not be stored as another's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench import CkptbenchError, LoadOptions
from ckptbench.fixtures.checkpoints import huggingface
from ckptbench.fixtures.checkpoints.fingerprint import TOKENIZER_FILES, TOKENIZER_PARTS, fingerprint
from ckptbench.fixtures.checkpoints.huggingface import load_masked_lm
from ckptbench.fixtures.checkpoints.replaced import once_more, unchanged
from ckptbench.fixtures.checkpoints.resolve import resolve

DEMO = Path(__file__).parents[3] / "benchmarks/demo/demo-mlm"


def put(folder: Path, other: Path) -> None:
    """Replace a folder's weights as trainers do: written beside, renamed over."""
    shutil.copy(other / "model.safetensors", folder / "new")
    (folder / "new").replace(folder / "model.safetensors")


def while_loading(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], None]) -> list[int]:
    """Do something each time the weights have been read, before the loading ends."""
    load, times = huggingface.load_weights, []

    def slow(*args: Any, **named: Any) -> Any:
        found = load(*args, **named)
        times.append(len(times))
        act(len(times))
        return found

    monkeypatch.setattr(huggingface, "load_weights", slow)
    return times


@pytest.fixture
def best(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEMO / "checkpoint-100", tmp_path / "best"))


def test_a_checkpoint_replaced_once_is_loaded_again_as_what_it_is_now(
    best: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    later = DEMO / "checkpoint-6000"
    times = while_loading(monkeypatch, lambda n: put(best, later) if n == 1 else None)
    found = load_masked_lm(resolve(str(best)), LoadOptions(device="cpu"))
    assert len(times) == 2
    monkeypatch.undo()
    right = load_masked_lm(resolve(str(later)), LoadOptions(device="cpu"))
    assert all(
        torch.equal(a, b)
        for a, b in zip(found.model.parameters(), right.model.parameters(), strict=True)
    )
    assert found.fingerprint == fingerprint(best)


def test_a_checkpoint_that_is_replaced_twice_is_refused(
    best: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {1: DEMO / "checkpoint-6000", 2: DEMO / "checkpoint-1500"}
    while_loading(monkeypatch, lambda n: put(best, steps[n]))
    with pytest.raises(CkptbenchError, match="replaced while it was loaded: model") as refused:
        load_masked_lm(resolve(str(best)), LoadOptions(device="cpu"))
    assert refused.value.where == str(best)


def test_what_does_not_decide_answers_may_be_written_meanwhile(
    best: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = while_loading(monkeypatch, lambda n: (best / "optimizer.pt").write_text("x") and None)
    load_masked_lm(resolve(str(best)), LoadOptions(device="cpu"))
    assert len(times) == 1


def test_an_error_of_a_file_that_is_just_written_is_not_the_last_word(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text("{")

    def load() -> str:
        with unchanged(tmp_path) as watched:
            watched.add(file)
            content = file.read_text()
            if content == "{":
                file.write_text("{}")
                raise CkptbenchError("is not JSON")
            return content

    assert once_more(load) == "{}"


def test_an_error_of_files_that_stay_is_the_error(tmp_path: Path) -> None:
    def load() -> None:
        with unchanged(tmp_path) as watched:
            watched.add_folder(tmp_path)
            raise KeyError("x")

    with pytest.raises(KeyError):
        once_more(load)


@pytest.mark.parametrize(
    "name",
    [
        *("sentencepiece.model", "bpe.codes", "source.spm", "tokenizer.4.0.json"),
        "additional_chat_templates/rag.jinja",
    ],
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_every_file_that_decides_tokens_is_in_the_fingerprint(
    best: Path, tmp_path: Path, name: str, elsewhere: bool
) -> None:
    home = tmp_path / "tokenizer" if elsewhere else best
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text("one")
    before = fingerprint(best, home)
    (home / name).write_text("two")
    assert fingerprint(best, home) != before


def test_no_file_of_a_tokenizer_of_transformers_is_left_out() -> None:
    """Read from its source, as many of its classes need packages that are not installed."""
    import ast

    import transformers

    named = set()
    for file in Path(transformers.__file__).parent.rglob("*tokeniz*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Dict)
                and any(getattr(t, "id", "").lower() == "vocab_files_names" for t in node.targets)
            ):
                values = (v for v in node.value.values if isinstance(v, ast.Constant))
                named |= {str(value.value) for value in values}
    assert len(named) > 10
    assert named <= {*TOKENIZER_FILES, *TOKENIZER_PARTS}

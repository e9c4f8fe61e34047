"""Under which conditions an engine that is not loaded is taken for the one that answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench.api.requests import Generate
from ckptbench.config.options import Options
from ckptbench.fixtures.engines.base import REVISION
from ckptbench.fixtures.plugin import pytest_ckptbench_resolver
from ckptbench.results.answers import keys_of
from ckptbench.results.identities import known
from ckptbench.results.store import RunStore
from ckptbench.session import remembered
from ckptbench.session.remembered import conditions


@pytest.mark.parametrize(
    "other",
    [
        Options(device="cpu"),
        Options(dtype="bf16"),
        Options(seq_len=100),
        Options(tokenizer=Path("tokenizer")),
        Options(model_args={"attn_implementation": "eager"}),
        Options(exact=True),
    ],
)
def test_other_options_are_other_conditions(other: Options) -> None:
    assert conditions(other) != conditions(Options())
    assert conditions(Options(limit=3, run_id="else")) == conditions(Options())


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("version", lambda package: "another"),
        ("visible_gpus", lambda: ["0", "1"]),
    ],
)
def test_other_packages_and_devices_are_other_conditions(
    name: str, changed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    before = conditions(Options())
    monkeypatch.setattr(remembered, name, changed)
    assert conditions(Options()) != before


def identity(spec: str, **options: Any) -> tuple[str, int] | None:
    return pytest_ckptbench_resolver(Options(device="cpu", **options)).identity(spec)


def test_the_revision_is_that_of_the_code_that_would_answer() -> None:
    found = identity("demo-mlm")
    assert found is not None
    fingerprint, revision = found
    assert len(fingerprint) == 64
    assert revision == REVISION


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("demo-mlm", {"exact": True}),
        ("demo-code", {"apply_chat_template": "short"}),
        ("http://127.0.0.1:1/v1", {}),
    ],
)
def test_what_only_loading_tells_is_not_told(spec: str, options: dict[str, Any]) -> None:
    assert identity(spec, **options) is None


def test_each_content_of_a_checkpoint_is_known_once_the_newest_run_first(tmp_path: Path) -> None:
    for run, fingerprint in (("a", "old"), ("b", "new"), ("c", "new")):
        store = RunStore(tmp_path / run)
        store.write_engine("c", {"fingerprint": fingerprint, "run": run}, "spec", "here")
        store.close()
    folders = [tmp_path / run for run in ("c", "none", "b", "a")]
    assert [facts["run"] for facts in known(folders, "spec", "here")] == ["c", "a"]
    assert list(known(folders, "spec", "elsewhere")) == []
    assert list(known(folders, "other", "here")) == []


def test_answers_that_a_changed_server_gave_are_counted_in_a_note(tmp_path: Path) -> None:
    def session(fingerprint: str, text: str, answered: int) -> list[str]:
        store = RunStore(tmp_path)
        store.write_plan(fingerprint, ["a note"], [], [], [])
        facts = {"fingerprint": fingerprint, "known_by": {"its answer": text, "its name": "m"}}
        for _ in range(2):  # two workers say the same
            store.write_engine("c", facts, "http://host/v1")
        key_of = keys_of(fingerprint, {}, "code/x", 0)
        store.add((key_of(f"s{n}", 0, Generate("q")), '{"kind": "x"}') for n in range(answered))
        notes = store.notes()
        store.close()
        return notes

    assert session("one", "wide", 3) == ["a note"]
    assert session("one", "wide", 3) == ["a note"]
    told = "3 stored answers of c are not reused: its answer was 'wide' and is 'blue'"
    assert session("two", "blue", 0) == ["a note", told]
    assert session("three", "calm", 0) == ["a note"], "nothing was stored"

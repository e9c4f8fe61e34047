"""Names of the hub: what its cache on this machine has, at a revision."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.checkpoints.expand import CheckpointResolver, expand
from ckptbench.checkpoints.found import named
from ckptbench.fixtures.checkpoints.fingerprint import deciding_files
from ckptbench.fixtures.checkpoints.resolve import (
    at_revision,
    fetch,
    is_checkpoint,
    place_of,
    resolve,
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two revisions of `maker/tiny`, laid out as the hub's client does."""
    import huggingface_hub.constants

    repository = tmp_path / "hub/models--maker--tiny"
    for branch, commit in (("main", "a" * 40), ("step1000", "b" * 40)):
        (repository / "refs").mkdir(parents=True, exist_ok=True)
        (repository / "refs" / branch).write_text(commit)
        (repository / "snapshots" / commit).mkdir(parents=True)
        (repository / "snapshots" / commit / "config.json").write_text("{}")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    return repository


@pytest.mark.parametrize(
    ("spec", "commit"),
    [("maker/tiny", "a"), ("maker/tiny@main", "a"), ("maker/tiny@step1000", "b")],
)
def test_a_name_is_its_snapshot_in_the_cache(cache: Path, spec: str, commit: str) -> None:
    found = resolve(spec)
    assert (found.kind.name, found.path) == ("huggingface", cache / "snapshots" / (commit * 40))


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("spec", ["maker/other", "maker/tiny@step9"])
def test_what_the_cache_lacks_names_the_command_that_fetches_it(spec: str) -> None:
    with pytest.raises(CkptbenchError, match="the hub's cache on this machine lacks it") as refused:
        resolve(spec)
    name, _, revision = spec.partition("@")
    wanted = f"hf download {name}" + (f" --revision {revision}" if revision else "")
    assert f"`{wanted}`" in refused.value.remedy


@pytest.mark.usefixtures("cache")
def test_without_the_network_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(CkptbenchError, match=r"lacks it \(HF_HUB_OFFLINE is set\)") as refused:
        fetch("maker/other@step1000")
    assert "`hf download maker/other --revision step1000`" in refused.value.remedy
    for spec in ("demo-mlm", "demo-mlm/checkpoint-100", "http://localhost:8000/v1", "runs"):
        fetch(spec)
    Path("runs").mkdir()
    fetch("runs/checkpoint-7")  # in a folder that is there: a path, misspelt


def test_what_is_whole_in_the_cache_is_not_asked_for(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub
    from safetensors.numpy import save_file

    asked: list[tuple[str, str | None]] = []

    def files(name: str, revision: str | None) -> list[str]:
        asked.append((name, revision))
        raise ConnectionError("no route to the hub")

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "model_info", files)
    for folder in (cache / "snapshots").iterdir():
        if folder.name.startswith("a"):
            save_file({}, folder / "model.safetensors")
    fetch("maker/tiny")
    assert asked == []
    with pytest.raises(CkptbenchError, match="no route to the hub"):
        fetch("maker/tiny@step1000+adapter=runs/x")
    assert asked == [("maker/tiny", "step1000")]


@pytest.mark.parametrize("word", ["step", "step-", "checkpoint-"])
def test_revisions_are_checkpoints_of_one_run_with_their_steps(word: str) -> None:
    resolver = CheckpointResolver(is_checkpoint, place_of, place_of)
    specs = [f"maker/tiny@{word}{step}" for step in (500, 1000)]
    found = named(expand(specs, resolver).found)
    assert [(each.name, each.run, each.step) for each in found] == [
        (f"tiny-{word}500", "maker/tiny", 500),
        (f"tiny-{word}1000", "maker/tiny", 1000),
    ]


def test_a_folder_of_that_name_comes_first(cache: Path) -> None:
    folder = Path("maker/tiny")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert resolve("maker/tiny").path == folder.absolute()
    with pytest.raises(CkptbenchError, match="maker/tiny has no revisions"):
        at_revision("maker/tiny", "main")


def test_a_revision_is_of_names_only(tmp_path: Path) -> None:
    assert at_revision("maker/tiny", "step1000") == "maker/tiny@step1000"
    assert at_revision("maker/tiny+adapter=runs/x", "v2") == "maker/tiny@v2+adapter=runs/x"
    assert at_revision(str(tmp_path), "") == str(tmp_path)
    for spec in (str(tmp_path), "demo-mlm", "http://localhost:8000/v1"):
        with pytest.raises(CkptbenchError, match="has no revisions"):
            at_revision(spec, "main")
    with pytest.raises(CkptbenchError, match="names the revision 'a', and the option 'b'"):
        at_revision("maker/tiny@a", "b")


def test_further_chat_templates_decide_answers_too(tmp_path: Path) -> None:
    further = tmp_path / "additional_chat_templates/rag.jinja"
    further.parent.mkdir()
    further.write_text("{{ messages }}")
    assert deciding_files(tmp_path) == {"additional_chat_templates/rag.jinja": further}

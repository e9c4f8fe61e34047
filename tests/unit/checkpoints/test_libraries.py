"""Libraries are imported without garbage collection, and whatever happens it goes on afterwards."""

import gc
import sys
from pathlib import Path

import pytest

from ckptbench.fixtures.checkpoints.libraries import import_once


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A note for each time that what is there is taken out of collection."""
    notes: list[str] = []
    monkeypatch.setattr(gc, "freeze", lambda: notes.append("frozen"))
    return notes


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module that notes whether garbage was collected when it was imported."""
    (tmp_path / "large_library.py").write_text("import gc\nCOLLECTED = gc.isenabled()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "large_library", raising=False)
    return "large_library"


def test_nothing_is_collected_during_an_import(module: str, frozen: list[str]) -> None:
    import_once(module)
    assert sys.modules[module].COLLECTED is False
    assert gc.isenabled()
    assert frozen == ["frozen"]


def test_what_came_after_a_first_import_stays_collected(module: str, frozen: list[str]) -> None:
    import_once(module)
    import_once(module)
    assert frozen == ["frozen"]


def test_who_collects_no_garbage_goes_on_so(module: str, frozen: list[str]) -> None:
    gc.disable()
    try:
        import_once(module)
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert not frozen


def test_collection_goes_on_after_an_import_that_fails(module: str, frozen: list[str]) -> None:
    with pytest.raises(ModuleNotFoundError):
        import_once(module, "a_library_that_is_not_there")
    assert gc.isenabled()

"""The limits of generated programs follow from the table of options."""

from __future__ import annotations

from inspect import signature

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.config.options import Options, exec_limits
from ckptbench.fixtures.sandbox import Sandbox
from ckptbench.gate.identity import Mismatch, check_allowed


def test_every_limit_is_an_argument_of_the_sandbox() -> None:
    options = Options(exec_timeout=2.0, exec_libraries=("numpy",))
    assert options.sandbox_arguments == {
        "timeout_s": 2.0,
        "memory_mb": None,
        "libraries": ("numpy",),
    }
    assert {each.exec_limit for each in exec_limits()} <= set(signature(Sandbox).parameters)


def test_results_record_what_was_given_or_is_usual() -> None:
    assert Options(exec_libraries=("json5", "numpy")).exec_settings({}) == {
        "exec_timeout_s": 3.0,
        "exec_memory_mb": 512,
        "exec_libraries": "json5,numpy",
    }


def test_limits_of_samples_yield_to_a_memory_that_was_given_alone() -> None:
    own = {"exec_timeout_s": "by the reference", "exec_memory_mb": 4096}
    usual = Options(exec_timeout=9.0).exec_settings(own)
    assert (usual["exec_timeout_s"], usual["exec_memory_mb"]) == ("by the reference", 4096)
    given = Options(exec_memory=1024).exec_settings(own)
    assert (given["exec_timeout_s"], given["exec_memory_mb"]) == ("by the reference", 1024)


def test_a_limit_without_a_name_of_its_own_is_called_by_its_setting() -> None:
    assert str(Mismatch("exec_open_files", 64, 32)).startswith("open files of a program 64 in")
    check_allowed(["exec-open-files"], ["exec_open_files"])
    with pytest.raises(CkptbenchError, match="did you mean 'exec_open_files'"):
        check_allowed(["exec-open-file"], ["exec_open_files"])

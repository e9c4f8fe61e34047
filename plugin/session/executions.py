"""Generated programs are judged as soon as they exist, while the model writes the next ones."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Protocol

from ..api.requests import Failed, Response, Skipped
from ..results.evaluate import NoAnswer
from .blocks import Question


class Execution(Protocol):
    """What became of a program. The `execution` of a benchmark function.

    Attributes:
        passed: whether every test held.
        status: `pass`, `fail`, `timeout`, `memory`, `output`, `violation`, `crash`, or `error`
            when the sandbox is at fault: that is no verdict on the program.
        reason: one line.
        wall_s: seconds from its start to its verdict.
    """

    @property
    def passed(self) -> bool: ...

    @property
    def status(self) -> str: ...

    @property
    def reason(self) -> str: ...

    @property
    def wall_s(self) -> float: ...


def submit(item: Question, response: Response) -> Future[Any] | None:
    """Hand the program of a response to the sandbox; a future of its `Execution`.

    The value of the `sandbox` fixture has a `submit` that takes what the protocol's `execute` made
    of the response.

    Returns:
        None where there is no program.
    """
    group = item.group
    if not group.executes or isinstance(response, Failed | Skipped):
        return None
    assert group.fixtures.values is not None
    assert group.protocol.execute is not None
    try:
        program = group.protocol.execute(item.sample, response, item.trial)
        submitted: Future[Any] = group.fixtures.values["sandbox"].submit(program)
        return submitted
    except Exception as error:
        failed: Future[Any] = Future()
        failed.set_exception(error)
        return failed


def execution_of(submitted: Future[Any]) -> Execution:
    """The execution of a submitted program, waiting for it.

    Raises:
        NoAnswer: the sandbox is at fault.
    """
    try:
        execution: Execution = submitted.result()
    except Exception as error:
        reason = f"the program could not be judged: {type(error).__name__}: {error}"
        raise NoAnswer(Failed(reason)) from error
    if execution.status == "error":
        raise NoAnswer(Failed(f"the program could not be judged: {execution.reason}"))
    return execution

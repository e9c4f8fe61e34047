"""Generated programs are judged as soon as they exist, while the model writes the next ones."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

from ..api.requests import Failed, Response, Skipped
from ..api.sample import Sample
from ..results.evaluate import NoAnswer

if TYPE_CHECKING:
    from .._util.jsonio import Scalar
    from ..api.protocol import EvalProtocol
    from ..config.options import Options
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


class Executions:
    """The programs of a session that are being judged, by the position of their item.

    They are handed to the value of the `sandbox` fixture: its `submit` takes what the protocol's
    `execute` made of a response and gives a future of an `Execution`.
    """

    def __init__(self) -> None:
        self._running: dict[int, Future[Any]] = {}

    def begin(self, item: Question, response: Response) -> None:
        """Have the program of a response judged, where its benchmark asks for that."""
        group = item.group
        if not group.executes or isinstance(response, Failed | Skipped):
            return
        self._running[item.position] = submit(item, response)

    def result(self, item: Question) -> Execution:
        """The execution of an item's program, waiting for it.

        Raises:
            NoAnswer: the sandbox is at fault.
        """
        try:
            execution: Execution = self._running.pop(item.position).result()
        except Exception as error:
            reason = f"the program could not be judged: {type(error).__name__}: {error}"
            raise NoAnswer(Failed(reason)) from error
        if execution.status == "error":
            raise NoAnswer(Failed(f"the program could not be judged: {execution.reason}"))
        return execution


def submit(item: Question, response: Response) -> Future[Any]:
    """Hand the program of a response to the sandbox; a future of its `Execution`."""
    group = item.group
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


def limits_of(options: Options, protocol: EvalProtocol, sample: Sample) -> dict[str, Scalar]:
    """What the programs of a benchmark may use, as settings of its result.

    Args:
        sample: one of the benchmark's, which may bring limits along.
    """
    own = protocol.own_limits(sample) if protocol.own_limits is not None else {}
    return options.exec_settings(own)

"""`ckptbench watch`: evaluate a training run's checkpoints as they are completed."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType

from .._util.errors import CkptbenchError
from ..config.parsers import number
from ..config.tracking_uri import check_tracking
from ..watch.scan import PATTERNS
from .arguments import PYTEST_ARGUMENT, SUITE, Commands, add_command, add_option, add_options

# Options of the plugin that the watch sets itself.
_OURS = ("checkpoint", "run-id", "results-dir", "report", "mlflow")
_seconds = number("seconds, such as 30", lambda found: 0 <= found < float("inf"))
_print = partial(print, flush=True)
_EXAMPLES = """\
  ckptbench watch runs/x --report html -- benchmarks --limit=200
  ckptbench watch runs/x --once --order newest-first -- benchmarks -k real
  ckptbench watch runs/x --stop-early --idle 7200 -- benchmarks; test $? -eq 3 && touch runs/x/STOP

exit status:
  0    ended after --once or --idle; every checkpoint evaluated is complete and passed its gate
  1    a checkpoint failed its gate, is incomplete, or could not be evaluated
  2    an argument cannot be used
  3    with --stop-early: training can stop
  130  ended by SIGINT; 143 by SIGTERM: what was evaluated is in the run's folder
"""


def register(commands: Commands) -> None:
    """Add the command and its options."""
    watch = add_command(
        commands,
        "watch",
        run,
        "Watch the folder that a trainer saves checkpoints in, evaluate each checkpoint once it is "
        "complete, and keep all of them in one run, whatever the trainer deletes later.",
        usage="ckptbench watch DIR [options] [-- PYTEST-ARGUMENT ...]",
        help="evaluate a training run's checkpoints as they are completed",
        examples=_EXAMPLES,
    )
    watch.add_argument("folder", type=Path, metavar="DIR", help="folder of the checkpoints")
    add_option(watch, "run-id", help="name of the run (default: watch- and the name of DIR)")
    add_option(watch, "report", help="formats of a report to rewrite after each checkpoint")
    watch.add_argument(
        "--once", action="store_true", help="evaluate the checkpoints that are there, then exit"
    )
    watch.add_argument(
        "--idle",
        type=_seconds,
        metavar="SECONDS",
        help="exit after this many seconds without a new checkpoint",
    )
    watch.add_argument(
        "--stop-early",
        action="store_true",
        help="exit with status 3 when the early-stopping rule says that training can stop",
    )
    watch.add_argument(
        "--pattern",
        action="append",
        metavar="P",
        help=f"names of checkpoints; may be repeated (default: {', '.join(PATTERNS)})",
    )
    watch.add_argument(
        "--order",
        choices=("oldest-first", "newest-first"),
        default="oldest-first",
        help="which of several checkpoints is evaluated first (default oldest-first)",
    )
    watch.add_argument(
        "--settle",
        type=_seconds,
        default=10.0,
        metavar="SECONDS",
        help="a checkpoint is complete once its files have not changed for this long (default 10)",
    )
    add_options(watch, "results-dir", "lang")
    add_option(watch, "mlflow", help="send the run to this MLflow server as well")
    add_options(watch, "tolerance", "alpha")
    watch.add_argument(PYTEST_ARGUMENT, action="append", default=[], help=argparse.SUPPRESS)


def fold_pytest_arguments(argv: Sequence[str]) -> list[str]:
    """The command line of `watch` with the arguments after `--` as values of a hidden option.

    argparse would take them for surplus positional arguments.
    """
    given = list(argv)
    if given[:1] != ["watch"] or "--" not in given:
        return given
    end = given.index("--")
    return given[:end] + [f"{PYTEST_ARGUMENT}={argument}" for argument in given[end + 1 :]]


def run(arguments: argparse.Namespace) -> int:
    """Watch; see the epilog for the exit status."""
    from ckptbench.fixtures.endpoints import supervise

    from ..reports.write import check_formats
    from ..watch.watcher import Watcher, WatchSettings

    _check(arguments.pytest_argument)
    check_formats(arguments.report)
    check_tracking(arguments.mlflow or "")
    patterns = tuple(arguments.pattern or PATTERNS)
    for pattern in patterns:
        if "/" in pattern:
            raise CkptbenchError(
                f"{pattern!r} holds a slash", where="--pattern", remedy="it matches names in DIR"
            )
    folder: Path = arguments.folder
    name = arguments.run_id or f"watch-{folder.absolute().name}"
    settings = WatchSettings(
        folder=folder,
        run=arguments.results_dir.absolute() / name,
        arguments=tuple(arguments.pytest_argument) or SUITE,
        patterns=patterns,
        order=arguments.order,
        settle_s=arguments.settle,
        poll_s=min(2.0, max(0.1, arguments.settle / 2)),
        idle_s=arguments.idle,
        once=arguments.once,
        stop_early=arguments.stop_early,
        reports=arguments.report,
        mlflow=arguments.mlflow or "",
        alpha=arguments.alpha,
        tolerance=arguments.tolerance,
    )
    stop = threading.Event()
    with _signals(stop) as received:
        watcher = Watcher(settings, stop, _print, supervise.start)
        absent = "" if folder.is_dir() else " (which is not there yet)"
        _print(f"watching {folder}{absent}, results in {arguments.results_dir / name}")
        status = 1
        with suppress(KeyboardInterrupt):  # a second signal: files written already are complete
            status = watcher.run()
    return 128 + received[0] if received else status


def _check(arguments: Sequence[str]) -> None:
    for argument in arguments:
        option = argument.partition("=")[0].removeprefix("--").removeprefix("ckpt-")
        if argument.startswith("--") and option in _OURS:
            remedy = f"give --{option} to the watch, before --"
            if option == "checkpoint":
                remedy = "the watch names the checkpoints itself"
            raise CkptbenchError(f"{argument} after --", where="watch", remedy=remedy)


@contextmanager
def _signals(stop: threading.Event) -> Iterator[list[int]]:
    """The first SIGINT or SIGTERM requests an orderly end, a second one ends at once."""
    received: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        received.append(number)
        stop.set()
        if len(received) > 1:
            raise KeyboardInterrupt

    before = {each: signal.signal(each, handle) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)

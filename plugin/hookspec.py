"""The hooks by which a plugin or a conftest adds to ckptbench: see docs/extending.md.

A module that implements some of them is found as any pytest plugin is (a conftest, `-p`, the entry
points of `pytest11`), or by the entry-point group `ckptbench`, which serves the `ckptbench` command
as well. All but the last two are called when a name is first looked up among contributions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from .api.benchmark import TaskSource
    from .checkpoints.expand import CheckpointResolver
    from .checkpoints.kind import CheckpointKind
    from .config.options import Options
    from .readers.detect import ResultReader
    from .reports.write import ReportFormat
    from .results.summary import CheckpointResult
    from .scores.score import Reducer
    from .session.run import RunContext

hookspec = pluggy.HookspecMarker("pytest")


@hookspec
def pytest_ckptbench_reducers() -> Mapping[str, type[Reducer]]:  # type: ignore[empty-body]
    """Contribute reducers, which fold the trials of a sample into metrics.

    Called when a benchmark's reducer is written into the run's store by its name, and when it is
    read from there: by a worker, at the end of a session, or by a later command.

    Returns:
        Frozen dataclasses by name, whose fields are JSON values.

    Example, in a module that the entry-point group `ckptbench` names, or in a conftest::

        from mymetrics import Median  # a frozen dataclass that implements ckptbench.Reducer


        def pytest_ckptbench_reducers():
            return {"median": Median}
    """


@hookspec
def pytest_ckptbench_checkpoint_kinds() -> Sequence[CheckpointKind]:  # type: ignore[empty-body]
    """Contribute kinds of checkpoints that `--checkpoint` takes.

    Called when patterns are matched, when a spec is resolved and, by `ckptbench watch`, when a
    checkpoint is looked at. A plugin's kind is tried before those of the suite.

    Returns:
        Kinds; each says how it is recognised, when it is complete, and what loads it.

    Example::

        def pytest_ckptbench_checkpoint_kinds():
            def is_gguf(path):
                return path.suffix == ".gguf"

            return [CheckpointKind("gguf", "a GGUF file", is_gguf, load=open_gguf)]
    """


@hookspec
def pytest_ckptbench_report_formats() -> Sequence[ReportFormat]:  # type: ignore[empty-body]
    """Contribute formats of reports, for `--report` and `ckptbench report --format`.

    Called when the requested formats are checked, and when they are written.

    Returns:
        Formats; each has a function of the results, the conclusions and a folder that writes
        files and returns their paths.

    Example::

        def pytest_ckptbench_report_formats():
            def write(results, conclusions, folder):
                path = folder / "names.txt"
                path.write_text(" ".join(m.name for m in results[0].measurements))
                return (path,)

            return [ReportFormat("names", write)]
    """


@hookspec
def pytest_ckptbench_result_readers() -> Sequence[ResultReader]:  # type: ignore[empty-body]
    """Contribute readers of other tools' results, for `ckptbench compare` and other commands.

    Called when a path is read; the first reader that accepts it reads it, plugins' before the
    suite's.

    Returns:
        Readers; each says whether it accepts a path, and makes a `Result` of it.

    Example::

        def pytest_ckptbench_result_readers():
            def accepts(path):
                return path.suffix == ".tsv"

            return [ResultReader("tsv", accepts, read_tsv)]
    """


@hookspec
def pytest_ckptbench_tasks() -> Sequence[TaskSource]:  # type: ignore[empty-body]
    """Contribute tasks by name: benchmarks that `--tasks` and `--eval-config` name.

    Called when the suite's `test_lm_eval` is collected, and when names are checked.

    Returns:
        Sources; each knows the names of its tasks, and makes benchmarks of those that a session's
        options name. lm-eval gets every name that no other source knows.

    Example::

        def pytest_ckptbench_tasks():
            def chosen(options):
                return [make(name) for name in options.tasks if name in MINE]

            return [TaskSource("mine", names=lambda options: MINE, benchmarks=chosen)]
    """


@hookspec(firstresult=True)
def pytest_ckptbench_resolver(options: Options) -> CheckpointResolver | None:
    """Resolve `--checkpoint`: which paths are checkpoints, and what each can answer.

    Called once a session, when checkpoints are first looked for. The suite's own is called last;
    a plugin that contributes kinds of checkpoints needs no resolver.

    Args:
        options: of the session.

    Returns:
        The resolver; None leaves it to the next plugin.

    Example, for checkpoints that are names in a registry of one's own::

        def pytest_ckptbench_resolver(options):
            def nowhere(spec):
                return None

            return CheckpointResolver(lambda path: False, place_of=nowhere, folder_of=nowhere)
    """


@hookspec(firstresult=True)
def pytest_ckptbench_result(  # type: ignore[empty-body]
    context: RunContext, result: CheckpointResult
) -> CheckpointResult:
    """Amend the result of one checkpoint before it is compared, written and shown.

    Called at the end of a session, in the main process, once for each checkpoint. The suite's own
    implementation is innermost; implement it as a wrapper, so that several can amend in turn.

    Args:
        context: of the session: its options, its answers, and where notes go.
        result: as the answers' outcomes were folded.

    Returns:
        The result that counts.

    Example::

        @pytest.hookimpl(wrapper=True)
        def pytest_ckptbench_result(context, result):
            amended = yield
            context.add_note(f"{result.name} was measured on {platform.node()}")
            return replace(amended, facts={**amended.facts, "host": platform.node()})
    """

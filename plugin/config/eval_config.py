"""What a configuration file comes to: which benchmarks and tasks run, with which settings.

These are plain values, so that options can hold them without loading pydantic.
"""

from __future__ import annotations

from dataclasses import dataclass

# The benchmarks that come with the suite: in a configuration file their names mean them, and not
# tasks of lm-eval.
SHIPPED = ("real", "lambada", "humaneval", "mbpp", "codecontests", "problems")
_SECTIONS = ("benchmarks", "tasks")
# Without a priority of its own, a task runs after those that have one.
NO_PRIORITY = 1_000_000


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """How one entry is asked; None where the file says nothing.

    Attributes:
        entry: where in the file it stands, such as `tasks.gsm8k`.
        names: benchmarks of the suite or lm-eval tasks that it means.
        limit: samples at most, or a share below 1 of them.
        has_limit: whether the file says how many; `limit` None then asks all.
        batch_size: rows of a batch at most; 0 lets the engine choose.
        timeout_s: seconds after which nothing more is asked.
    """

    entry: str
    names: tuple[str, ...]
    num_fewshot: int | None = None
    batch_size: int | None = None
    limit: int | float | None = None
    has_limit: bool = False
    description: str = ""
    metrics: tuple[str, ...] | None = None
    output_path: str = ""
    log_samples: bool = False
    priority: int = NO_PRIORITY
    timeout_s: float | None = None
    apply_chat_template: bool | str | None = None
    system_instruction: str | None = None
    fewshot_as_multiturn: bool | None = None
    gen_kwargs: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of `--list-benchmarks`.

    Attributes:
        tasks: what it asks; its own name for a benchmark of the suite.
    """

    name: str
    enabled: bool
    tasks: tuple[str, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class EvalPlan:
    """A configuration file, read and checked.

    Attributes:
        path: the file.
        settings: of everything that runs, in running order.
        listed: every benchmark of the file, also those that do not run.
        idle: settings of what does not run.
        notes: what the reader must know, such as tasks that no benchmark names.
    """

    path: str
    settings: tuple[TaskSettings, ...]
    listed: tuple[Listed, ...]
    notes: tuple[str, ...] = ()
    idle: tuple[TaskSettings, ...] = ()

    def of(self, name: str) -> TaskSettings | None:
        """The settings of a benchmark or task; None when it does not run."""
        return next((each for each in self.settings if name in each.names), None)

    def asked_by(self, benchmark: Listed) -> frozenset[str]:
        """Names of what a listed benchmark asks, as far as it runs."""
        entries = {f"{section}.{task}" for task in benchmark.tasks for section in _SECTIONS}
        running = [each for each in self.settings if benchmark.enabled and each.entry in entries]
        return frozenset(name for each in running for name in each.names)

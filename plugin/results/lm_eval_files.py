"""lm-eval's own files, of any version of it: results, and the sample logs beside them.

What ckptbench writes in their shape is in `lm_eval_format`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError
from .._util.jsonio import JSON, Scalar, is_count, is_number
from .lm_eval_format import NO_FILTER


@dataclass(frozen=True, slots=True)
class FileMetric:
    """A metric of a task, as a results file has it.

    Attributes:
        task: the task's name, or a group's.
        metric: `METRIC,FILTER`.
        value: in the metric's own unit.
        standard_error: None where the file has none.
        n: documents that were asked; None where the file does not say.
    """

    task: str
    metric: str
    value: float
    standard_error: float | None
    n: int | None


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """The content of a results file.

    Attributes:
        content: the JSON object.
        where: the file, for messages.
    """

    content: Mapping[str, Any]
    where: str

    @property
    def is_official(self) -> bool:
        """Whether it has the shape of lm-eval's files, and not only their `results`."""
        config = self.content.get("config")
        return isinstance(self.content.get("results"), Mapping) and isinstance(config, Mapping)

    @property
    def has_filters(self) -> bool:
        """Whether a metric's name says which filter the answers went through."""
        tasks = [task for task in self.content["results"].values() if isinstance(task, Mapping)]
        return any("," in name for task in tasks for name in task)

    def metrics(self) -> Iterator[FileMetric]:
        """Every metric of every task.

        Raises:
            CkptbenchError: `results` does not hold numbers by task.
        """
        results, found = self.content["results"], False
        if not isinstance(results, Mapping):
            raise self._bad("'results' is no object")
        for task, numbers in results.items():
            if not isinstance(numbers, Mapping):
                raise self._bad(f"results of {task!r} are no object")
            n = self._count(task)
            for name, value in numbers.items():
                metric, comma, key = name.partition(",")
                # Keys without a filter (`alias`, `sample_len`) are not metrics.
                if not comma or metric.endswith("_stderr") or not is_number(value):
                    continue
                error = numbers.get(f"{metric}_stderr,{key}")
                known = float(error) if is_number(error) and error >= 0 else None
                yield FileMetric(task, name, float(value), known, n)
                found = True
        if not found:
            raise self._bad("'results' holds no metric")

    def _bad(self, what: str) -> CkptbenchError:
        remedy = "Give the results_*.json that lm-eval wrote."
        return CkptbenchError(what, where=self.where, remedy=remedy)

    @property
    def model(self) -> str:
        """The model's name or folder; empty where the file does not say."""
        name = self.content.get("model_name")
        return name if isinstance(name, str) and name else self._arguments().get("pretrained", "")

    @property
    def revision(self) -> str:
        """The revision of the model on its hub, such as `step1000`; empty without one."""
        return self._arguments().get("revision", "")

    def _arguments(self) -> dict[str, str]:
        """`model_args`, which is a text of pairs in some versions and an object in others."""
        config = self.content.get("config")
        given = config.get("model_args") if isinstance(config, Mapping) else None
        if isinstance(given, Mapping):
            return {str(key): str(value) for key, value in given.items()}
        if isinstance(given, str):
            return dict(part.strip().partition("=")[::2] for part in given.split(","))
        return {}

    def higher_is_better(self, task: str, metric: str) -> bool | None:
        """Whether more of a metric is better, as far as the file says."""
        of_task = self._of_task("higher_is_better", task)
        rises = of_task.get(metric.partition(",")[0]) if isinstance(of_task, Mapping) else None
        return rises if isinstance(rises, bool) else None

    def members(self, scored: Collection[str]) -> set[str]:
        """The tasks and groups that belong to a group which has a score of its own."""
        groups = self.content.get("group_subtasks")
        if not isinstance(groups, Mapping):
            return set()
        return {name for group, names in groups.items() if group in scored for name in names or ()}

    def protocol(self, task: str) -> str:
        """A task's protocol as our own runs of it name theirs: its version and number of shots."""
        version, shots = (self._of_task(key, task) for key in ("versions", "n-shot"))
        return "" if version is None or shots is None else f"{task}/v{version}-{shots}-shot"

    def chat(self) -> dict[str, Scalar]:
        """What lm-eval's command line writes of prompts: the template's text, and the system's."""
        if "chat_template" not in self.content:
            return {}
        chats = bool(self.content["chat_template"])
        # lm-eval writes it of plain prompts too, where it changes nothing.
        turns = chats and bool(self.content.get("fewshot_as_multiturn"))
        system = str(self.content.get("system_instruction") or "")
        return {"chat": chats, "fewshot_as_multiturn": turns, "system_instruction": system}

    def _of_task(self, key: str, task: str) -> Any:
        """What the file has of a task under one of its keys; None without it."""
        by_task = self.content.get(key)
        return by_task.get(task) if isinstance(by_task, Mapping) else None

    def _count(self, task: str) -> int | None:
        """Documents that were asked, the effective number where there are two."""
        counts = self._of_task("n-samples", task)
        n = counts.get("effective") if isinstance(counts, Mapping) else counts
        return n if is_count(n) else None


def results_files(folder: Path) -> list[Path]:
    """The results files of a folder of lm-eval's, or of its models' folders; the newest last."""
    files = (*folder.glob("results_*.json"), *folder.glob("*/results_*.json"))
    return sorted(files, key=lambda path: (_stamp_of(path), str(path)))


def _stamp_of(path: Path) -> str:
    """The time in the name of a results file or a log, as text that sorts by it."""
    return path.stem.rpartition("_")[2]


@dataclass(frozen=True, slots=True)
class LoggedDocument:
    """A document of a task, with one filter of its answers, as a sample log has it.

    Attributes:
        key: what makes it the same in another log: its content, or else its number.
        number: its number in the task.
        filter: the filter's name.
        row: the whole line.
    """

    key: str
    number: str
    filter: str
    row: Mapping[str, Any]

    def value(self, metric: str) -> float | None:
        """Its value of a metric, such as `acc`, where that is a finite number."""
        value = self.row.get(metric)
        return float(value) if isinstance(value, int | float) and isfinite(value) else None

    @property
    def values(self) -> Mapping[str, float]:
        """Its values of the metrics that the log lists, by `METRIC,FILTER`."""
        numbers = [(name, self.row.get(name)) for name in self.row.get("metrics") or ()]
        return {
            f"{name},{self.filter}": float(value)
            for name, value in numbers
            if isinstance(value, int | float)
        }

    @property
    def fields(self) -> dict[str, JSON]:
        """The document and its right answer."""
        return {"doc": self.row.get("doc"), "target": self.row.get("target")}

    @property
    def response(self) -> dict[str, JSON] | None:
        """The answers behind the filter; None where the log has none."""
        answer = self.row.get("filtered_resps")
        return {"filtered_resps": answer} if answer is not None else None


def sample_log(path: Path, task: str) -> Path | None:
    """The sample log of a task that was written with a results file; the newest one before it."""
    exact = path.with_name(f"samples_{task}_{_stamp_of(path)}.jsonl")
    if exact.is_file():
        return exact
    # Newer versions of lm-eval write the logs moments before the results.
    prefix = f"samples_{task}_"
    found = [
        log
        for log in path.parent.glob("samples_*.jsonl")
        if log.name.startswith(prefix) and log.stem.removeprefix(prefix) == _stamp_of(log)
    ]
    only_results = len(list(path.parent.glob("results_*.json"))) == 1
    return max(found, key=_stamp_of) if found and only_results else None


def logged_documents(log: Path) -> Iterator[LoggedDocument]:
    """The documents of a sample log, in its order.

    Raises:
        CkptbenchError: it cannot be read, or a line of it was cut off.
    """
    try:
        with log.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    raise CkptbenchError(
                        "the line was cut off",
                        where=f"{log}:{number}",
                        remedy="Copy the log again, or take it away to compare numbers.",
                    ) from None
                if isinstance(row, dict):
                    id = str(row.get("doc_id"))
                    key = str(row.get("doc_hash") or f"doc-{id}")
                    yield LoggedDocument(key, id, str(row.get("filter", NO_FILTER)), row)
    except (OSError, UnicodeDecodeError) as error:
        raise CkptbenchError(f"cannot be read: {error}", where=str(log)) from error

"""Send a run's folder to MLflow: a parent run for the session, a child for each checkpoint.

MLflow does not change params and the points of a curve once they are written. So a run that only
grew is added to, and one whose values have changed is created again, and the old one deleted.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._util.errors import CkptbenchError
from ..config.tracking_uri import Address, address_of, require_client
from ..readers.run import read_summary
from .record import (
    CHECKPOINT,
    RUN_ID,
    Record,
    SessionRecord,
    cut,
    gather_checkpoint,
    gather_session,
    record_of,
    steps_of,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "ckptbench"
_AT_ONCE = {"tags": 100, "params": 100, "metrics": 500}  # the server takes at most 1,000 metrics
# The messages of HTTP errors are nested: the innermost one is the cause.
_CAUSE = re.compile(r"Caused by \w+\([\"'](?:HTTPS?Connection(?:Pool)?\([^)]*\): )?(.*?)[\"']\)")

# MLflow's own defaults wait many minutes for a server that does not answer. A user's settings stay.
_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
# A server that has answered once may need longer for a report of many megabytes.
_ONCE_ANSWERED = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}


@dataclass(frozen=True, slots=True)
class Tracked:
    """A run that was sent to MLflow.

    Attributes:
        server: its address, without a login.
        experiment: name of the experiment.
        run: id of the parent run.
        how: `sent`, `updated`, or `replaced` where values had changed.
        url: of the parent run's page; empty where the store is no server.
    """

    server: str
    experiment: str
    run: str
    how: str
    url: str

    def __str__(self) -> str:
        return f"MLflow: {self.how}, {self.url or f'run {self.run} in {self.server}'}"


def track(folder: Path, uri: str) -> Tracked:
    """Send a run's folder; sending it again updates the run in MLflow.

    The experiment is `ckptbench`, or MLFLOW_EXPERIMENT_NAME. The time limit for a server that does
    not answer is about ten seconds, unless MLflow's own variables are set.

    Raises:
        CkptbenchError: the folder holds no run, the client is not installed, or the server
            cannot be reached or refuses. The folder is only read.
    """
    require_client()
    summary = read_summary(folder)
    address = address_of(uri)
    session = record_of(summary)
    with (
        client_environment(address.uri, address.login) as answered,
        tempfile.TemporaryDirectory(prefix="ckptbench-") as made,
    ):
        # A folder for the parent's files and one for each child's.
        folders = [Path(made) / str(number) for number in range(1 + len(summary.checkpoints))]
        for each in folders:
            each.mkdir()
        gather_session(folder, summary, steps_of(summary), folders[0])
        for checkpoint, own in zip(summary.checkpoints, folders[1:], strict=True):
            gather_checkpoint(folder, checkpoint, own)
        try:
            return _send(address, session, folders, answered)
        except Exception as error:  # the client raises what its transport raises
            raise _failed(folder, address, error) from None


def tracking_message(folder: Path, uri: str) -> str:
    """Call `track`; returns where the run is, or why it was not sent and what to do."""
    try:
        return str(track(folder, uri))
    except CkptbenchError as error:
        where = f"{error.where}: " if error.where else ""
        return f"MLflow: not tracked, {where}{error.what}; {error.remedy}"


@contextmanager
def client_environment(uri: str, login: Mapping[str, str]) -> Iterator[Callable[[], None]]:
    """Set the variables that configure MLflow's client; restore the environment afterwards.

    Args:
        uri: of the server, for the parts of the client that only read the variable.
        login: variables that hold the login.

    Yields:
        A function to be called when the server has answered for the first time.
    """
    before = dict(os.environ)

    def set_unless_given(defaults: Mapping[str, str]) -> None:
        os.environ.update({name: v for name, v in defaults.items() if name not in before})

    set_unless_given(_DEFAULTS)
    os.environ.update({**login, "MLFLOW_TRACKING_URI": uri})
    try:
        yield lambda: set_unless_given(_ONCE_ANSWERED)
    finally:
        for name in {*_DEFAULTS, *login, "MLFLOW_TRACKING_URI"}:
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)


def _failed(folder: Path, address: Address, error: Exception) -> CkptbenchError:
    text = address.hide(str(error)) or type(error).__name__
    cause = _CAUSE.search(text)
    reason = cut(cause[1] if cause else " ".join(text.split()), 300)
    # The login is not printed: the command has a placeholder for a URI that contains one.
    uri = "URI" if address.secret else address.shown
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    return CkptbenchError(
        f"the run was not sent: {reason}",
        where=address.shown,
        remedy=f"everything is on disk: `ckptbench mlflow {shown} --uri {uri}` sends it later",
    )


def _send(
    address: Address, session: SessionRecord, folders: list[Path], answered: Callable[[], None]
) -> Tracked:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=address.uri)
    experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
    known = client.get_experiment_by_name(experiment)
    answered()
    number = known.experiment_id if known else client.create_experiment(experiment)
    sender = _Sender(client, number, session)
    how = sender.prepare()
    parent = sender.send(session.parent, folders[0], {})
    for child, own in zip(session.children, folders[1:], strict=True):
        sender.send(child, own, {"mlflow.parentRunId": parent})
    url = f"{address.shown.rstrip('/')}/#/experiments/{number}/runs/{parent}"
    at_server = address.uri.startswith("http")
    return Tracked(address.shown, experiment, parent, how, url if at_server else "")


class _Sender:
    def __init__(self, client: MlflowClient, experiment: str, session: SessionRecord) -> None:
        self._client = client
        self._experiment = experiment
        self._session = session
        self._found: dict[str, Any] = {}  # runs of this session, by the checkpoint's name

    def prepare(self) -> str:
        """Find the session's runs; delete them where their values are not the session's."""
        quoted = self._session.parent.tags[RUN_ID].replace('"', '\\"')
        there = self._client.search_runs(
            [self._experiment], f'tags.`{RUN_ID}` = "{quoted}"', max_results=5000
        )
        self._found = {run.data.tags.get(CHECKPOINT, ""): run for run in there}
        if not there:
            return "sent"
        records = {"": self._session.parent} | {c.name: c for c in self._session.children}
        if all(n in records and self._agrees(r, records[n]) for n, r in self._found.items()):
            return "updated"
        for run in there:
            self._client.delete_run(run.info.run_id)
        self._found = {}
        return "replaced"

    def _agrees(self, run: Any, record: Record) -> bool:
        """Whether nothing that MLflow has of the run would have to be changed."""
        if any(record.params.get(name) != value for name, value in run.data.params.items()):
            return False
        return all(record.points.get(point) == value for point, value in self._points(run).items())

    def _points(self, run: Any) -> dict[tuple[str, int], float]:
        return {
            (point.key, point.step): point.value
            for name in run.data.metrics
            for point in self._client.get_metric_history(run.info.run_id, name)
        }

    def send(self, record: Record, files: Path, tags: Mapping[str, str]) -> str:
        """Make or complete one run; its id."""
        from mlflow.entities import Metric, Param, RunTag

        run = self._found.get(record.tags.get(CHECKPOINT, ""))
        there = self._points(run) if run else {}
        if run is None:
            run = self._client.create_run(
                self._experiment,
                start_time=self._session.started_ms,
                run_name=record.name,
                tags=dict(tags),
            )
        ended_ms, number = self._session.ended_ms, run.info.run_id
        # The tags first: they identify the run if the rest is not sent.
        batches: dict[str, list[Any]] = {
            "tags": [RunTag(name, text) for name, text in {**record.tags, **tags}.items()],
            "params": [Param(*p) for p in record.params.items() if p[0] not in run.data.params],
            "metrics": [
                Metric(name, value, ended_ms, step)
                for (name, step), value in record.points.items()
                if (name, step) not in there
            ],
        }
        for kind, values in batches.items():
            for start in range(0, len(values), _AT_ONCE[kind]):
                part = values[start : start + _AT_ONCE[kind]]
                self._client.log_batch(number, **{kind: part})  # type: ignore[arg-type]
        if any(files.iterdir()):
            self._client.log_artifacts(number, str(files))
        self._client.set_terminated(number, "FINISHED" if record.complete else "FAILED", ended_ms)
        return str(number)

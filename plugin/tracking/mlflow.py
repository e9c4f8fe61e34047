"""A run's folder to MLflow: a parent run for the session, a child for each checkpoint.

MLflow keeps params and the points of a curve as they were first written. So a run that only grew
is added to, and one whose values have changed is made anew, the old one going to MLflow's trash.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._util.errors import CkptbenchError
from ..config.tracking_uri import Address, address_of, require_client
from ..readers.run import read_summary
from .artifacts import gather_checkpoint, gather_session
from .client_environment import client_environment
from .names import cut
from .record import CHECKPOINT, RUN_ID, Record, SessionRecord, record_of, steps_of

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "ckptbench"
_POINTS_AT_ONCE = 500  # the server takes at most 1,000
_TEXTS_AT_ONCE = 100
# A transport's message is a chain of nested objects: the innermost one says what happened.
_CAUSE = re.compile(r"Caused by \w+\([\"'](?:HTTPS?Connection(?:Pool)?\([^)]*\): )?(.*?)[\"']\)")


@dataclass(frozen=True, slots=True)
class Tracked:
    """A run that MLflow now holds.

    Attributes:
        server: its address, without a login.
        experiment: name of the experiment.
        run: id of the parent run.
        how: `sent`, `updated`, or `sent anew` in place of one with other values.
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
    """Send a run's folder; sending it again updates what is there.

    The experiment is `ckptbench`, or MLFLOW_EXPERIMENT_NAME. A silent server is given up after
    about ten seconds, unless MLflow's own variables say otherwise.

    Args:
        folder: `results/<run-id>`.
        uri: of the tracking server or store.

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
        # The parent's files lie in one folder, each child's in another.
        places = [Path(made) / str(number) for number in range(1 + len(summary.checkpoints))]
        for place in places:
            place.mkdir()
        gather_session(folder, summary, steps_of(summary), places[0])
        for checkpoint, place in zip(summary.checkpoints, places[1:], strict=True):
            gather_checkpoint(folder, checkpoint, place)
        try:
            return _send(address, session, places, answered)
        except Exception as error:  # the client raises what its transport raises
            raise _failed(folder, address, error) from None


def track_or_say(folder: Path, uri: str) -> str:
    """`track`, as one sentence for the run's summary: where it is, or why not and what to do."""
    try:
        return str(track(folder, uri))
    except CkptbenchError as error:
        where = f"{error.where}: " if error.where else ""
        return f"MLflow: not tracked, {where}{error.what}; {error.remedy}"


def _failed(folder: Path, address: Address, error: Exception) -> CkptbenchError:
    text = address.hide(str(error)) or type(error).__name__
    cause = _CAUSE.search(text)
    reason = cut(cause[1] if cause else " ".join(text.split()), 300)
    # The login is nobody's to print, so the command that needs it leaves the URI open.
    uri = "URI" if address.secret else address.shown
    return CkptbenchError(
        f"the run was not sent: {reason}",
        where=address.shown,
        remedy=f"everything is on disk: `ckptbench mlflow {_from_here(folder)} --uri {uri}` "
        "sends it later",
    )


def _from_here(folder: Path) -> Path:
    try:
        return folder.relative_to(Path.cwd())
    except ValueError:
        return folder


def _send(
    address: Address, session: SessionRecord, places: list[Path], answered: Callable[[], None]
) -> Tracked:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=address.uri)
    experiment = os.environ.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
    known = client.get_experiment_by_name(experiment)
    answered()
    number = known.experiment_id if known else client.create_experiment(experiment)
    sender = _Sender(client, number, session)
    how = sender.prepare()
    parent = sender.send(session.parent, places[0], {})
    for child, place in zip(session.children, places[1:], strict=True):
        sender.send(child, place, {"mlflow.parentRunId": parent})
    url = f"{address.shown.rstrip('/')}/#/experiments/{number}/runs/{parent}"
    at_server = address.uri.startswith("http")
    return Tracked(address.shown, experiment, parent, how, url if at_server else "")


class _Sender:
    """One session on its way into one experiment."""

    def __init__(self, client: MlflowClient, experiment: str, session: SessionRecord) -> None:
        self._client = client
        self._experiment = experiment
        self._session = session
        self._found: dict[str, Any] = {}  # runs of this session, by the checkpoint's name

    def prepare(self) -> str:
        """Find what is there; put it in the trash where it says other things than the session."""
        wanted = self._session.parent.tags[RUN_ID]
        quoted = wanted.replace('"', '\\"')
        there = self._client.search_runs(
            [self._experiment], f'tags.`{RUN_ID}` = "{quoted}"', max_results=5000
        )
        self._found = {run.data.tags.get(CHECKPOINT, ""): run for run in there}
        if not there:
            return "sent"
        records = {"": self._session.parent, **{c.name: c for c in self._session.children}}
        if all(
            name in records and self._agrees(run, records[name])
            for name, run in self._found.items()
        ):
            return "updated"
        for run in there:
            self._client.delete_run(run.info.run_id)
        self._found = {}
        return "sent anew"

    def _agrees(self, run: Any, record: Record) -> bool:
        """Whether nothing that is there would have to be changed."""
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
        params = [
            Param(name, value)
            for name, value in record.params.items()
            if name not in run.data.params
        ]
        texts = [RunTag(name, value) for name, value in {**record.tags, **tags}.items()]
        points = [
            Metric(name, value, self._session.ended_ms, step)
            for (name, step), value in record.points.items()
            if (name, step) not in there
        ]
        number: str = run.info.run_id
        # The tags first: what they name is found again when the rest does not arrive.
        for part in _parts(texts, _TEXTS_AT_ONCE):
            self._client.log_batch(number, tags=part)
        for part in _parts(params, _TEXTS_AT_ONCE):
            self._client.log_batch(number, params=part)
        for part in _parts(points, _POINTS_AT_ONCE):
            self._client.log_batch(number, metrics=part)
        if any(files.iterdir()):
            self._client.log_artifacts(number, str(files))
        status = "FINISHED" if record.complete else "FAILED"
        self._client.set_terminated(number, status, self._session.ended_ms)
        return number


def _parts(values: list[Any], size: int) -> list[list[Any]]:
    rest = iter(values)
    return list(iter(lambda: list(islice(rest, size)), []))

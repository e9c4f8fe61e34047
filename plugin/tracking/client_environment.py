"""The variables that MLflow's client is steered by, while it sends."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

# MLflow's own defaults try a silent server for many minutes. What a user has set stays.
_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
# A server that has answered may take its time over a report of many megabytes.
_ONCE_ANSWERED = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}


@contextmanager
def client_environment(uri: str, login: Mapping[str, str]) -> Iterator[Callable[[], None]]:
    """Set them, and put back what was there before.

    Args:
        uri: of the server, for the parts of the client that only read the variable.
        login: variables that hold the login.

    Yields:
        To be called when the server has answered for the first time.
    """
    given = frozenset(os.environ)
    wanted = {name: value for name, value in _DEFAULTS.items() if name not in given}
    wanted |= {**login, "MLFLOW_TRACKING_URI": uri}
    before = {name: os.environ.get(name) for name in wanted}

    def answered() -> None:
        os.environ.update({n: v for n, v in _ONCE_ANSWERED.items() if n not in given})

    os.environ.update(wanted)
    try:
        yield answered
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

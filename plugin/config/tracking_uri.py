"""The address of a tracking server, with its login kept apart from what is shown or written."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

from .._util.errors import CkptbenchError, one_line

VARIABLE = "MLFLOW_TRACKING_URI"
FROM_ENVIRONMENT = "env"
OFF = "off"
_USER, _PASSWORD = "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"
URL_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")
# What every version of the client can use. It connects to a server only when it sends something.
_USUAL = ("http", "https", "databricks", "sqlite", "mysql", "postgresql", "mssql")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://\S+|databricks|databricks://\S+|file:\S+")


@dataclass(frozen=True, slots=True)
class Address:
    """A tracking server.

    Attributes:
        uri: what the client connects to; an HTTP login is not in it.
        shown: what may be printed and written.
        login: the environment variables through which the client takes an HTTP login.
    """

    uri: str = field(repr=False)
    shown: str
    login: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def secret(self) -> bool:
        """Whether part of the address is not shown."""
        return bool(self.login) or self.shown != self.uri

    def hide(self, text: str) -> str:
        """A message of the client without the login."""
        password = urlsplit(self.uri).password or self.login.get(_PASSWORD, "")
        for secret in filter(None, (password, unquote(password))):
            text = text.replace(secret, "***")
        return URL_LOGIN.sub("***", text)


def tracking_uri(text: str) -> str:
    """Reads `--mlflow`: a URI, `env` for the one in MLFLOW_TRACKING_URI, or `off`, which is empty.

    Raises:
        argparse.ArgumentTypeError: it is no URI, or the variable is not set.
    """
    if text == OFF:
        return ""
    found = os.environ.get(VARIABLE, "") if text == FROM_ENVIRONMENT else text
    if not found:
        raise argparse.ArgumentTypeError(f"'env' takes the URI from {VARIABLE}, which is not set")
    if not _SCHEME.fullmatch(found):
        shown = URL_LOGIN.sub("***", found)
        raise argparse.ArgumentTypeError(
            "expected the URI of a tracking server such as http://localhost:5000, a store such as "
            f"sqlite:///mlflow.db, or 'env' for {VARIABLE}, got {shown!r}"
        )
    return found


def address_of(uri: str) -> Address:
    """Split a URI into address and login.

    Raises:
        CkptbenchError: an HTTP login without a password, which the client would not send.
    """
    parts = urlsplit(uri)
    shown = URL_LOGIN.sub("***", uri)
    if parts.scheme not in ("http", "https") or "@" not in parts.netloc:
        return Address(uri, shown)
    if not parts.username or not parts.password:
        raise CkptbenchError(
            "the login in the tracking URI is not a user and a password",
            where=shown,
            remedy="write http://USER:PASSWORD@HOST, or set MLFLOW_TRACKING_TOKEN",
        )
    login = {_USER: unquote(parts.username), _PASSWORD: unquote(parts.password)}
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return Address(bare, bare, login)


def check_tracking(uri: str) -> None:
    """Refuse to start a session whose run could not be sent at its end.

    Args:
        uri: of the server; nothing is checked when empty.

    Raises:
        CkptbenchError: the client is not installed or has no store of this kind, or the login is
            incomplete.
    """
    if not uri:
        return
    require_client()
    address = address_of(uri)
    if uri.partition(":")[0].partition("+")[0] not in _USUAL:
        _check_store(address)


def _check_store(address: Address) -> None:
    # As when a run is sent: the client decides at its import whether it reports its own use.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient  # seconds, which the end of the run saves

    try:
        MlflowClient(tracking_uri=address.uri)
    except Exception as error:
        raise CkptbenchError(
            f"MLflow cannot store runs there: {address.hide(one_line(error))}",
            where=f"--mlflow={address.shown}",
            remedy="give the URI of a server (http://localhost:5000) or of a database "
            "(sqlite:///mlflow.db)",
        ) from error


def require_client() -> None:
    """Check that MLflow's client is installed, without importing it.

    Raises:
        CkptbenchError: MLflow's client is not installed.
    """
    if find_spec("mlflow") is None:
        raise CkptbenchError(
            "MLflow's client is not installed", remedy="pip install 'ckptbench[mlflow]'"
        )

"""`ckptbench mlflow`: send a run on disk to an MLflow server, or send it again."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from .._util.errors import CkptbenchError
from ..config.tracking_uri import FROM_ENVIRONMENT, VARIABLE, tracking_uri
from .arguments import Commands, add_command

_EXAMPLES = """\
  ckptbench mlflow results/20260728_091500_4242 --uri http://localhost:5000
  MLFLOW_TRACKING_URI=http://localhost:5000 ckptbench mlflow results/nightly
"""


def register(commands: Commands) -> None:
    """Add the command and its options."""
    mlflow = add_command(
        commands,
        "mlflow",
        run,
        "Send a run's folder to an MLflow server: a parent run for the session and a child run "
        "for each checkpoint. A run that is already there is updated.",
        help="send a run to an MLflow server",
        examples=_EXAMPLES,
    )
    mlflow.add_argument("folder", type=Path, metavar="DIR", help="results/<run-id>")
    mlflow.add_argument("--uri", metavar="URI", help=f"URI of the server (default: ${VARIABLE})")


def run(arguments: argparse.Namespace) -> int:
    """Send a run; the exit status is 0, as a failure to send it is an error."""
    from ..tracking.mlflow import track

    if arguments.uri is None and not os.environ.get(VARIABLE):
        raise CkptbenchError(
            "no server to send to", where="--uri", remedy=f"give --uri=URI, or set {VARIABLE}"
        )
    try:
        uri = tracking_uri(arguments.uri or FROM_ENVIRONMENT)
    except argparse.ArgumentTypeError as error:
        raise CkptbenchError(str(error), where="--uri") from None
    print(track(arguments.folder, uri))
    return 0

"""Tasks that somebody else would judge are refused, whatever their names are."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.lm_eval.tasks import Wanted, load

pytestmark = pytest.mark.skipif(
    find_spec("lm_eval") is None, reason="lm-eval is not installed: pip install lm_eval"
)

PLAIN = """
import json
import re
from urllib.parse import quote


def _words(text):
    return re.findall("[a-z]+", quote(text))


def score(doc, results):
    return {"acc": float(_words(results[0]) == _words(json.dumps(doc["a"])))}
"""
IMPORTS_INSIDE = """
def score(doc, results):
    from openai import OpenAI

    return {"acc": OpenAI().judge(results[0])}
"""
IN_A_HELPER = """
import urllib.request


class Judge:
    def verdict(self, text):
        return urllib.request.urlopen("http://127.0.0.1:9/" + text).read()


def _ask(text):
    return [Judge().verdict(each) for each in (text,)][0]


def score(doc, results):
    return {"acc": float(_ask(results[0]) == b"1")}
"""
SECOND_MODEL = """
def score(doc, results):
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained("judge")
    return {"acc": float(model(results[0]) > 0)}
"""
LOADED_METRIC = """
import evaluate


def score(doc, results):
    metric = evaluate.load("bertscore")
    return {"acc": metric.compute(predictions=results, references=[doc["a"]])["f1"][0]}
"""
# As some tasks have it: the client at the top, for another function of the same module.
UNUSED_CLIENT = """
try:
    from httpx import Client
except ImportError:
    pass


def judged(doc, results):
    return {"acc": Client().get(results[0]).status_code}


def score(doc, results):
    return {"acc": float(results[0] == doc["a"])}
"""


def write(folder: Path, code: str, **changes: object) -> Wanted:
    (folder / "judge.py").write_text(code)
    (folder / "rows.jsonl").write_text('{"q": "n", "a": "x"}\n')
    metric = {"metric": "acc", "aggregation": "mean", "higher_is_better": True}
    task = {
        "task": "judged",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(folder / "rows.jsonl")}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{q}}",
        "doc_to_target": "{{a}}",
        "metric_list": [metric],
        **changes,
    }
    process = "" if "process_results" in changes else "\nprocess_results: !function judge.score\n"
    lines = [f"{key}: {json.dumps(value)}" for key, value in task.items() if value is not None]
    (folder / "judged.yaml").write_text("\n".join(lines) + process)
    return Wanted(("judged",), (folder,))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (IMPORTS_INSIDE, "a remote service, asked with openai"),
        (IN_A_HELPER, "a remote service, asked with urllib"),
        (SECOND_MODEL, r"another model \(transformers.AutoModelForSequenceClassification\)"),
        (LOADED_METRIC, r"another model \(bertscore\)"),
    ],
    ids=["import", "helper", "model", "metric"],
)
def test_a_task_that_somebody_else_scores(tmp_path: Path, code: str, reason: str) -> None:
    with pytest.raises(CkptbenchError, match=f"judged is scored by {reason}") as refused:
        load(write(tmp_path, code))
    assert refused.value.where == "--tasks"


@pytest.mark.parametrize("code", [PLAIN, UNUSED_CLIENT], ids=["plain", "unused"])
def test_a_task_that_scores_by_itself(tmp_path: Path, code: str) -> None:
    assert set(load(write(tmp_path, code)).tasks) == {"judged"}


def test_a_metric_that_nobody_has(tmp_path: Path) -> None:
    metric = {"metric": "no_such_metric", "aggregation": "mean", "higher_is_better": True}
    wanted = write(tmp_path, PLAIN, process_results=None, metric_list=[metric])
    with pytest.raises(
        CkptbenchError, match="judged has the metric 'no_such_metric', which neither"
    ):
        load(wanted)


def test_a_request_of_an_unknown_kind(tmp_path: Path) -> None:
    code = """
from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask


class Distribution(ConfigurableTask):
    def __init__(self, config=None):
        config = {**config, "output_type": "generate_until"}
        config.pop("class", None)
        super().__init__(config=config)

    def construct_requests(self, doc, ctx, **kwargs):
        for name in ("apply_chat_template", "chat_template"):
            kwargs.pop(name, None)
        return Instance("logits_of_models", doc, (ctx, "a", "b"), 0, **kwargs)
"""
    wanted = write(tmp_path, code, process_results=None)
    file = tmp_path / "judged.yaml"
    file.write_text(file.read_text() + "\nclass: !function judge.Distribution\n")
    with pytest.raises(
        CkptbenchError, match="judged makes requests of the kind 'logits_of_models'"
    ):
        load(wanted)

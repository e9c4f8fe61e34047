"""The JSON Schema of summary.json says what is written, and the committed one is current."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench.reports.schema import attribute_descriptions, summary_schema, write_schemas
from ckptbench.results.as_json import summary_as_json
from ckptbench.results.summary import Summary

jsonschema = pytest.importorskip("jsonschema")

COMMITTED = Path(__file__).parents[3] / "docs" / "schema"


@pytest.fixture
def validator() -> Any:
    schema = summary_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", ["no_baseline", "regressed", "incomplete"])
def test_a_summary_validates(validator: Any, name: str, request: pytest.FixtureRequest) -> None:
    summary: Summary = request.getfixturevalue(name)
    value = json.loads(json.dumps(summary_as_json(summary), allow_nan=False))
    assert [error.message for error in validator.iter_errors(value)] == []


@pytest.mark.parametrize(
    ("spoil", "place"),
    [
        (lambda s: s.update(format="ckptbench.summary/9"), "format"),
        (lambda s: s.pop("run_id"), ""),
        (lambda s: s.update(checkpoint="a typo"), ""),
        (lambda s: s.update(complete="yes"), "complete"),
        (lambda s: _first_score(s).update(value="0.5"), "value"),
        (lambda s: _first_score(s).update(interval=[0.1]), "interval"),
        (lambda s: _first_verdict(s).update(word="worse"), "word"),
        (lambda s: _first_verdict(s).pop("tolerance"), "0"),
    ],
)
def test_a_broken_summary_does_not(
    validator: Any, regressed: Summary, spoil: Callable[[dict[str, Any]], Any], place: str
) -> None:
    value = copy.deepcopy(json.loads(json.dumps(summary_as_json(regressed))))
    spoil(value)
    errors = list(validator.iter_errors(value))
    assert [str(error.path[-1]) if error.path else "" for error in errors] == [place]


def test_the_schema_explains_every_field() -> None:
    schema = summary_schema()
    for name in ("Score", "Comparison", "Verdict", "Coverage", "CheckpointResult"):
        definition = schema["$defs"][name]
        assert definition["description"].endswith(".")
    score = schema["$defs"]["Score"]["properties"]
    assert score["interval"]["description"] == (
        "95% interval `(low, high)` in the unit of `value`, or None."
    )


def test_attributes_of_a_docstring() -> None:
    docstring = """A thing.

    Attributes:
        name: short
            and unique: yes.
        n: how many.

    More text.
    """
    assert attribute_descriptions(docstring) == {"name": "short and unique: yes.", "n": "how many."}


def test_the_committed_schemas_are_current(tmp_path: Path) -> None:
    for written in write_schemas(tmp_path):
        assert (COMMITTED / written.name).read_text(encoding="utf-8") == written.read_text(
            encoding="utf-8"
        ), "run: python -m ckptbench.reports.schema docs/schema"


def _first_score(summary: dict[str, Any]) -> dict[str, Any]:
    score: dict[str, Any] = summary["checkpoints"][0]["benchmarks"][0]["scores"][0]
    return score


def _first_verdict(summary: dict[str, Any]) -> dict[str, Any]:
    verdict: dict[str, Any] = summary["checkpoints"][0]["benchmarks"][0]["verdicts"][0]
    return verdict

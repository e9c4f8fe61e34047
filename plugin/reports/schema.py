"""The JSON Schema of `summary.json`, made from its dataclasses.

`python -m ckptbench.reports.schema docs/schema` writes it and the baseline's; run it after every
change of their fields.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

from .._util.atomic import atomic_write_text
from .._util.jsonio import JSON, pretty
from ..results.summary import SUMMARY_FORMAT, Summary

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def summary_schema() -> dict[str, JSON]:
    """JSON Schema (draft 2020-12) of `summary.json`.

    Stricter than pydantic's own: every field is required, and no other is allowed. Descriptions
    of fields come from the `Attributes:` part of the docstrings.
    """
    from pydantic import TypeAdapter

    schema = TypeAdapter(Summary).json_schema(mode="serialization")
    definitions = schema.pop("$defs")
    for definition in (*definitions.values(), schema):
        _tighten(definition)
    schema["properties"]["format"] = {"const": SUMMARY_FORMAT, "description": "Format and version."}
    return {
        "$schema": _DIALECT,
        "title": "A run of ckptbench (summary.json)",
        **{key: value for key, value in schema.items() if key != "title"},
        "$defs": definitions,
    }


def write_schemas(folder: Path) -> tuple[Path, ...]:
    """Write `summary.schema.json` and `baseline.schema.json` into a folder."""
    from ..readers.baseline import baseline_schema

    schemas = {"summary": summary_schema(), "baseline": baseline_schema()}
    paths = {folder / f"{name}.schema.json": schema for name, schema in schemas.items()}
    for path, schema in paths.items():
        atomic_write_text(path, pretty(schema))
    return tuple(paths)


def attribute_descriptions(docstring: str) -> dict[str, str]:
    """The `Attributes:` part of a docstring by name, each joined to one line."""
    _, _, listed = inspect.cleandoc(docstring).partition("\nAttributes:\n")
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", listed, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def _tighten(definition: dict[str, Any]) -> None:
    docstring = definition["description"]
    definition["description"] = docstring.partition("\n")[0]
    definition["additionalProperties"] = False
    definition["required"] = list(definition["properties"])
    descriptions = attribute_descriptions(docstring)
    for name, schema in definition["properties"].items():
        schema.pop("title", None)
        schema.pop("default", None)
        if name in descriptions:
            schema["description"] = descriptions[name]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m ckptbench.reports.schema FOLDER")
    for written in write_schemas(Path(sys.argv[1])):
        print(written)

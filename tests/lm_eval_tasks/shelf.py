"""Lays out datasets as the hub does, in the folder that a run starts from.

    python tests/lm_eval_tasks/shelf.py FOLDER [CORPORA]

`datasets` reads `FOLDER/openai/gsm8k` where it would ask the hub for `openai/gsm8k`, so the tasks
that lm-eval ships are asked as they are, without a network. The rows are of their own text, about
functions as demo-code knows them; with CORPORA they are those of the public datasets on disk.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

SUBJECTS = (
    "abstract_algebra",
    "college_biology",
    "college_chemistry",
    "college_computer_science",
    "college_mathematics",
    "college_physics",
    "elementary_mathematics",
    "high_school_biology",
    "high_school_chemistry",
    "high_school_computer_science",
    "high_school_mathematics",
    "high_school_physics",
    "high_school_statistics",
    "machine_learning",
)
MATH = {
    "algebra": "Algebra",
    "counting_and_probability": "Counting & Probability",
    "geometry": "Geometry",
    "intermediate_algebra": "Intermediate Algebra",
    "number_theory": "Number Theory",
    "prealgebra": "Prealgebra",
    "precalculus": "Precalculus",
}
EXAMPLES = 6
CHANGES = (("plus", "+"), ("minus", "-"), ("times", "*"))
Row = Mapping[str, Any]


def write(folder: Path, documents: int, corpora: Path | None = None) -> Path:
    """Write the datasets of DROP, WinoGrande, GSM8K, MATH and 14 subjects of MMLU.

    Args:
        documents: of each dataset that are asked, at most; further ones are few-shot examples.
        corpora: the folder of public corpora, or None for rows of their own text.
    """
    many = EXAMPLES + documents
    rows = _own(many) if corpora is None else _public(corpora)
    for place, (config, train, asked) in _PLACES.items():
        for name, found in rows[place].items():
            held = found[:many]
            splits = {train: held[:EXAMPLES], asked: held[EXAMPLES:]}
            _dataset(folder / place, config or name, splits)
    return folder


# Of each place on the hub: its configuration (one a subject where it is empty), and its splits.
_PLACES = {
    "EleutherAI/drop": ("default", "train", "validation"),
    "allenai/winogrande": ("winogrande_xl", "train", "validation"),
    "openai/gsm8k": ("main", "train", "test"),
    "EleutherAI/hendrycks_math": ("", "train", "test"),
    "cais/mmlu": ("", "dev", "test"),
}


def _dataset(folder: Path, config: str, splits: Mapping[str, Sequence[Row]]) -> None:
    """Add a configuration to a dataset; its card says where the files of each split are."""
    (folder / config).mkdir(parents=True, exist_ok=True)
    card = folder / "README.md"
    head = card.read_text().removesuffix("---\n") if card.exists() else "---\nconfigs:\n"
    head += f"- config_name: {config}\n  data_files:\n"
    for split, rows in splits.items():
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (folder / config / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
        head += f"  - split: {split}\n    path: {config}/{split}.jsonl\n"
    card.write_text(head + "---\n")


def _drop(number: int, passage: str, question: str, answers: Sequence[Sequence[str]]) -> Row:
    """A row in DROP's shape; each answer is a list of spans."""
    nothing = {"day": "", "month": "", "year": ""}
    return {
        "query_id": f"q{number}",
        "passage": passage,
        "question": question,
        "answer": {"number": "", "date": nothing, "spans": list(answers[0])},
        "validated_answers": {
            "number": [""] * len(answers),
            "date": [nothing] * len(answers),
            "spans": [list(spans) for spans in answers],
        },
    }


# Rows of their own text


def _own(count: int) -> dict[str, dict[str, list[Row]]]:
    several = [_change(n) for n in range(2, 2 + count)]
    return {
        "EleutherAI/drop": {"": [_own_drop(n, *change) for n, change in enumerate(several)]},
        "allenai/winogrande": {"": [_own_winogrande(n, *c) for n, c in enumerate(several)]},
        "openai/gsm8k": {"": [_own_gsm8k(*change) for change in several]},
        "EleutherAI/hendrycks_math": {s: [_own_math(*c) for c in several] for s in MATH},
        "cais/mmlu": {
            subject: [_own_mmlu(n + place, subject, *c) for n, c in enumerate(several)]
            for place, subject in enumerate(SUBJECTS)
        },
    }


def _change(n: int) -> tuple[str, str, int]:
    """What happens to 12: a word, a sign, and the number."""
    return (*CHANGES[n % 3], n)


def _after(sign: str, n: int) -> int:
    return {"+": 12 + n, "-": 12 - n, "*": 12 * n}[sign]


def _own_drop(number: int, word: str, sign: str, n: int) -> Row:
    passage = f"The function returns n {word} {n}."
    said = f"return n {sign} {n}"
    return _drop(number, passage, "What does it return?", [[said], [f"n {sign} {n}"]])


def _own_winogrande(number: int, word: str, sign: str, n: int) -> Row:
    return {
        "sentence": f"To return n {word} {n}, write _ return n {sign} {n}.",
        "option1": "n and",
        "option2": "no def",
        "answer": str(1 + number % 2),
    }


def _own_gsm8k(word: str, sign: str, n: int) -> Row:
    result = _after(sign, n)
    return {
        "question": f"n is 12. Return n {word} {n}.",
        "answer": f"It is {result}.\n#### {result}",
    }


def _own_math(word: str, sign: str, n: int) -> Row:
    result = _after(sign, n)
    final = f"Final Answer: The final answer is ${result}$. I hope it is correct."
    solution = f"It is $\\boxed{{{result}}}$.\n{final}"
    return {"problem": f"$n = 12$. Return $n$ {word} {n}.", "solution": solution}


def _own_mmlu(number: int, subject: str, word: str, sign: str, n: int) -> Row:
    choices = [f"return n {s} {n}" for s in ("+", "-", "*", "//")]
    right = choices.index(f"return n {sign} {n}")
    place = number % 4
    choices[right], choices[place] = choices[place], choices[right]
    question = f"Return n {word} {n}."
    return {"question": question, "subject": subject, "choices": choices, "answer": place}


# Rows of the public datasets


def _public(corpora: Path) -> dict[str, dict[str, list[Row]]]:
    problems = _lines(corpora / "math/math500.jsonl")
    return {
        "EleutherAI/drop": {"": list(_public_drop(corpora / "drop/drop_v0_dev.jsonl.gz"))},
        "allenai/winogrande": {"": list(_public_winogrande(corpora / "winogrande"))},
        "openai/gsm8k": {"": _lines(corpora / "gsm8k/test.jsonl")},
        "EleutherAI/hendrycks_math": {
            name: [row for row in problems if row["subject"] == subject]
            for name, subject in MATH.items()
        },
        "cais/mmlu": {subject: _public_mmlu(corpora / "mmlu", subject) for subject in SUBJECTS},
    }


def _lines(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _public_drop(file: Path) -> Iterable[Row]:
    """From `Passage: ... Question: ... Answer:` with `A|B` as the right answers."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            text = row["context"].removeprefix("Passage: ").removesuffix("\nAnswer:")
            passage, _, question = text.rpartition("\nQuestion: ")
            yield _drop(number, passage, question, [[text] for text in row["ref_text"].split("|")])


def _public_winogrande(folder: Path) -> Iterable[Row]:
    """From `... sentence: S Option1: A Option2: B Answer format: ...` to its parts."""
    (file,) = folder.glob("*.json")
    for row in json.loads(file.read_text(encoding="utf-8")):
        text = row["instruction"].partition("sentence: ")[2].partition(" Answer format:")[0]
        sentence, one, two = (part.strip() for part in re.split(r"Option\d: ", text))
        answer = row["answer"].removeprefix("option")
        yield {"sentence": sentence, "option1": one, "option2": two, "answer": answer}


def _public_mmlu(folder: Path, subject: str) -> list[Row]:
    found: list[Row] = []
    for split in ("dev", "test"):
        (file,) = (folder / split).glob(f"{subject}_*.csv")
        with file.open(newline="", encoding="utf-8") as rows:
            found += [
                {
                    "question": row["question"].strip(),
                    "subject": subject,
                    "choices": [row[f"choice{n}"] for n in range(4)],
                    "answer": int(row["answer"]),
                }
                for row in csv.DictReader(rows)
            ]
    return found


if __name__ == "__main__":
    write(Path(sys.argv[1]), 10, *map(Path, sys.argv[2:]))

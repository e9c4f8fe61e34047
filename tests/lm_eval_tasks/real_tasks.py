"""Writes well-known tasks in lm-eval's own YAML, over corpora on disk, a few documents each.

    python tests/lm_eval_tasks/real_tasks.py CORPORA FOLDER

The rules are those of the tasks that lm-eval ships under these names without `few_`; the documents
come from CORPORA, so that no hub is asked.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

DOCUMENTS = 8
SUBJECTS = ("abstract_algebra", "college_physics", "high_school_statistics", "machine_learning")
TASKS = ("few_gsm8k", "few_arc_challenge", "few_hellaswag", "few_winogrande", "few_mmlu_stem")

HEAD = """task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    dev: {folder}/{name}_dev.jsonl
    test: {folder}/{name}.jsonl
test_split: test
fewshot_split: dev
fewshot_config:
  sampler: first_n
"""
ACC = """  - metric: acc
    aggregation: mean
    higher_is_better: true
"""
ACC_NORM = ACC.replace("acc", "acc_norm")
GSM8K = r"""output_type: generate_until
num_fewshot: 2
doc_to_text: "Question: {{question}}\nAnswer:"
doc_to_target: "{{answer}}"
generation_kwargs:
  until: ["Question:"]
  do_sample: false
  max_gen_toks: 96
filter_list:
  - name: strict-match
    filter:
      - function: regex
        regex_pattern: "#### (\\-?[0-9\\.\\,]+)"
      - function: take_first
  - name: flexible-extract
    filter:
      - function: regex
        group_select: -1
        regex_pattern: "(-?[$0-9.,]{2,})|(-?[0-9]+)"
      - function: take_first
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    regexes_to_ignore: [",", "\\$", "(?s).*#### ", "\\.$"]
metadata:
  version: 3.0
"""
ARC = (
    r"""output_type: multiple_choice
num_fewshot: 0
doc_to_text: "Question: {{question}}\nAnswer:"
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
metric_list:
"""
    + ACC
    + ACC_NORM
)
HELLASWAG = (
    """output_type: multiple_choice
doc_to_text: "{{query}}"
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
metric_list:
"""
    + ACC
    + ACC_NORM
)
WINOGRANDE = (
    """output_type: multiple_choice
doc_to_text: !function winogrande.right_option
doc_to_choice: !function winogrande.beginnings
doc_to_target: !function winogrande.end
metric_list:
"""
    + ACC
)
WINOGRANDE_CODE = '''"""Two beginnings of a sentence: which one makes its end likelier?"""


def right_option(doc):
    return doc["answer"]


def beginnings(doc):
    before = doc["sentence"].partition("_")[0]
    return [before + option for option in doc["options"]]


def end(doc):
    return doc["sentence"].partition("_")[2].strip()
'''
MMLU = (
    r"""output_type: multiple_choice
num_fewshot: 5
description: "The following are multiple choice questions (with answers) about {{subject}}.\n\n"
doc_to_text: "{{question}}\n{% for c in choices %}{{'ABCD'[loop.index0]}}. {{c}}\n{% endfor %}\
  Answer:"
doc_to_choice: ["A", "B", "C", "D"]
doc_to_target: "{{answer}}"
metric_list:
"""
    + ACC
)
MMLU_GROUP = """group: few_mmlu_stem
task: [{tasks}]
aggregate_metric_list:
  - metric: acc
    weight_by_size: true
metadata:
  version: 2
"""
LAMBADA = """task: few_lambada
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: loglikelihood
doc_to_text: "{{{{text.split(' ')[:-1]|join(' ')}}}}"
doc_to_target: "{{{{' '+text.split(' ')[-1]}}}}"
metric_list:
  - metric: perplexity
    aggregation: perplexity
    higher_is_better: false
  - metric: acc
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1.0
"""

Rows = Iterable[Mapping[str, object]]


def write(corpora: Path, folder: Path) -> Path:
    """Write all tasks; `few_mmlu_stem` is a group, the others are single."""
    folder.mkdir(parents=True, exist_ok=True)
    _task(folder, "few_gsm8k", GSM8K, _lines(corpora / "gsm8k/test.jsonl"))
    _task(folder, "few_arc_challenge", ARC, map(_arc, _list(corpora / "arc", "*.json")))
    hellaswag = map(_hellaswag, _lines(corpora / "hellaswag/hellaswag_val_1000.jsonl"))
    _task(folder, "few_hellaswag", HELLASWAG, hellaswag)
    winogrande = map(_winogrande, _list(corpora / "winogrande", "*.json"))
    _task(folder, "few_winogrande", WINOGRANDE, winogrande)
    (folder / "winogrande.py").write_text(WINOGRANDE_CODE)
    for subject in SUBJECTS:
        yaml = MMLU.replace("{{subject}}", subject.replace("_", " "))
        rows = [
            row for split in ("dev", "test") for row in _mmlu(corpora / "mmlu" / split, subject)
        ]
        _task(folder, f"few_mmlu_{subject}", yaml, rows)
    names = ", ".join(f"few_mmlu_{subject}" for subject in SUBJECTS)
    (folder / "few_mmlu_stem.yaml").write_text(MMLU_GROUP.format(tasks=names))
    return folder


def write_lambada(corpora: Path, folder: Path, rows: int) -> Path:
    """Write the first rows of LAMBADA as a file of rows and as the task `few_lambada`."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (corpora / "lambada/lambada_test.jsonl").read_text(encoding="utf-8").splitlines(True)
    file = folder / "lambada.jsonl"
    file.write_text("".join(lines[:rows]), encoding="utf-8")
    (folder / "few_lambada.yaml").write_text(LAMBADA.format(file=file))
    return file


def _task(folder: Path, name: str, rules: str, rows: Rows) -> None:
    """The first five rows are examples, the next ones are asked."""
    (folder / f"{name}.yaml").write_text(HEAD.format(name=name, folder=folder) + rules)
    lines = [json.dumps(row) + "\n" for row, _ in zip(rows, range(5 + DOCUMENTS), strict=False)]
    (folder / f"{name}_dev.jsonl").write_text("".join(lines[:5]))
    (folder / f"{name}.jsonl").write_text("".join(lines[5:]))


def _lines(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _list(folder: Path, pattern: str) -> list[dict[str, str]]:
    (file,) = folder.glob(pattern)
    found: list[dict[str, str]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _arc(row: Mapping[str, str]) -> dict[str, object]:
    """From `... question: Q Answer1: A Answer2: B Answer format: ...` to its parts."""
    text = row["instruction"].partition("question: ")[2].partition("\n\nAnswer format:")[0]
    question, *choices = (part.strip() for part in re.split(r"Answer\d+: ", text))
    answer = int(row["answer"].removeprefix("answer")) - 1
    return {"question": question, "choices": choices, "answer": answer}


def _hellaswag(row: Mapping[str, object]) -> dict[str, object]:
    second = str(row["ctx_b"])
    begun = f"{row['activity_label']}: {row['ctx_a']} {second[:1].upper()}{second[1:]}"
    return {"query": begun, "choices": row["endings"], "answer": row["label"]}


def _winogrande(row: Mapping[str, str]) -> dict[str, object]:
    """From `... sentence: S Option1: A Option2: B Answer format: ...` to its parts."""
    text = row["instruction"].partition("sentence: ")[2].partition(" Answer format:")[0]
    sentence, *options = (part.strip() for part in re.split(r"Option\d: ", text))
    answer = int(row["answer"].removeprefix("option")) - 1
    return {"sentence": sentence, "options": options, "answer": answer}


def _mmlu(folder: Path, subject: str) -> list[dict[str, object]]:
    (file,) = folder.glob(f"{subject}_*.csv")
    with file.open(newline="", encoding="utf-8") as rows:
        return [
            {
                "question": row["question"].strip(),
                "choices": [row[f"choice{n}"] for n in range(4)],
                "answer": int(row["answer"]),
            }
            for row in csv.DictReader(rows)
        ]


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]).resolve())

"""Writes small tasks in lm-eval's own YAML, with questions of their own, into a folder.

    python tests/lm_eval_tasks/small_tasks.py FOLDER

The questions are functions as demo-code knows them. It reads their sentence well and their number
only where that has one digit, so that every task holds answers of both kinds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

DATASET = """dataset_path: json
dataset_kwargs:
  data_files:
    train: {folder}/{name}_train.jsonl
    test: {folder}/{name}.jsonl
training_split: train
test_split: test
"""
CHOICE = """task: {name}
{dataset}output_type: multiple_choice
{shots}fewshot_split: train
doc_to_text: "{{{{prompt}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{answer}}}}"
target_delimiter: "    "
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
  - metric: acc_norm
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1.5
"""
GENERATED = """task: {name}
{dataset}output_type: generate_until
num_fewshot: 0
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs:
  until: ["\\n\\n", "\\ndef"]
  max_gen_toks: 24
filter_list:
  - name: strict-match
    filter:
      - function: regex
        regex_pattern: "^ *return (n [+*-] [0-9]+)"
      - function: take_first
  - name: flexible-extract
    filter:
      - function: regex
        regex_pattern: "([+*/-]+ *[0-9]+)"
      - function: take_first
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: false
    regexes_to_ignore: ["^n "]
metadata:
  version: 2.0
"""
ROLLING = """task: {name}
{dataset}output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{{{text}}}}"
metric_list:
  - metric: word_perplexity
    aggregation: weighted_perplexity
    higher_is_better: false
  - metric: byte_perplexity
    aggregation: weighted_perplexity
    higher_is_better: false
  - metric: bits_per_byte
    aggregation: bits_per_byte
    higher_is_better: false
metadata:
  version: 0.0
"""
GRADED = """task: {name}
{dataset}output_type: generate_until
fewshot_split: train
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "    return n {{{{answer}}}}"
target_delimiter: ""
process_results: !function graded.token_f1
generation_kwargs:
  until: ["\\n"]
  max_gen_toks: 16
metric_list:
  - metric: em
    aggregation: mean
    higher_is_better: true
  - metric: f1
    aggregation: mean
    higher_is_better: true
  - metric: f1_even
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1.0
"""
GRADED_CODE = '''"""How the answers of `tiny_f1` are graded."""


def token_f1(doc, results):
    """Token overlap of an answer with the reference: F1, and whether they are the same.

    The number of words said stands beside them, which the task's list of metrics does not name.
    Answers about an even number have a metric of their own, which the others lack.
    """
    said, wanted = results[0].split(), f"return n {doc['answer']}".split()
    shared = sum(min(said.count(word), wanted.count(word)) for word in set(said))
    f1 = 2 * shared / (len(said) + len(wanted)) if shared else 0.0
    graded = {"em": float(said == wanted), "f1": f1, "said": len(said)}
    if int(wanted[-1]) % 2 == 0:
        graded["f1_even"] = f1
    return graded
'''
GROUP = """group: tiny_choices
task:
  - tiny_signs
  - tiny_numbers
aggregate_metric_list:
  - metric: acc
    aggregation: mean
    weight_by_size: true
metadata:
  version: 1.0
"""
CHANGES = (("plus", "+"), ("minus", "-"), ("times", "*"), ("divided by", "//"))
EXAMPLES = (5, 12)


def write(folder: Path) -> Path:
    """Write all tasks; their names are `tiny_*`, and `tiny_choices` is the group of two."""
    folder.mkdir(parents=True, exist_ok=True)
    _task(folder, "tiny_signs", CHOICE, (_sign(n) for n in range(2, 17)))
    numbers = (_number(n) for n in range(3, 14))
    _task(folder, "tiny_numbers", CHOICE, numbers, shots="num_fewshot: 2\n")
    _task(folder, "tiny_return", GENERATED, (_return(n) for n in range(2, 17)))
    _task(folder, "tiny_text", ROLLING, ({"text": _text(n)} for n in range(2, 10)))
    _task(folder, "tiny_f1", GRADED, (_return(n) for n in range(2, 15)))
    (folder / "graded.py").write_text(GRADED_CODE)
    (folder / "tiny_choices.yaml").write_text(GROUP)
    return folder


def _task(
    folder: Path, name: str, yaml: str, rows: Iterable[Mapping[str, object]], shots: str = ""
) -> None:
    dataset = DATASET.format(folder=folder, name=name)
    (folder / f"{name}.yaml").write_text(yaml.format(name=name, dataset=dataset, shots=shots))
    lines = [json.dumps(row) + "\n" for row in rows]
    (folder / f"{name}_train.jsonl").write_text("".join(lines[:4]))
    (folder / f"{name}.jsonl").write_text("".join(lines[4:]))


def _prompt(n: int) -> str:
    """A function that changes its argument by n, without its body."""
    words, sign = CHANGES[n % 4]
    rounded = ", rounded down" if sign == "//" else ""
    shown = "".join(f"    >>> change_{n}({x})\n    {_changed(x, sign, n)}\n" for x in EXAMPLES)
    return f'def change_{n}(n):\n    """Return n {words} {n}{rounded}.\n\n{shown}    """\n'


def _changed(x: int, sign: str, n: int) -> int:
    return {"+": x + n, "-": x - n, "*": x * n, "//": x // n}[sign]


def _sign(n: int) -> dict[str, object]:
    choices = [f"return n {sign} {n}" for _, sign in CHANGES]
    # The last ones ask for what the sentence does not say.
    answer = n % 4 if n < 14 else (n + 1) % 4
    return {"prompt": _prompt(n), "choices": choices, "answer": answer}


def _number(n: int) -> dict[str, object]:
    """Choices of different lengths, so that `acc` and `acc_norm` differ."""
    sign = CHANGES[n % 4][1]
    choices = [f"return n {sign} {number}" for number in (n, n % 7, f"{n} + n {sign} 2")]
    place = n % 3
    choices[0], choices[place] = choices[place], choices[0]
    return {"prompt": _prompt(n), "choices": choices, "answer": place}


def _return(n: int) -> dict[str, object]:
    return {"prompt": _prompt(n), "answer": f"{CHANGES[n % 4][1]} {n}"}


def _text(n: int) -> str:
    """Functions one after the other, up to more than the model reads at once."""
    return "\n\n".join(
        f"{_prompt(k)}    return n {CHANGES[k % 4][1]} {k}\n" for k in range(2, 2 * n)
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]).resolve())

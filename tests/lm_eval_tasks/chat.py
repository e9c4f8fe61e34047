"""Makes copies of a checkpoint whose tokenizer has a chat template, or several."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

# Ends in white space, which is scored with the answer behind it.
TURNS = (
    "{{ bos_token }}{% for m in messages %}# {{ m['role'] }}\n{{ m['content'] }}"
    "{% if not loop.last or add_generation_prompt %}{{ eos_token }}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}# assistant\n    {% endif %}"
)
# Knows no system, and leaves the beginning of a text to the tokenizer.
NO_SYSTEM = (
    "{% for m in messages %}{% if m['role'] == 'system' %}"
    "{{ raise_exception('a system is not supported') }}{% endif %}"
    "{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
LOUD = "{% for m in messages %}## {{ m['content'] | upper }}\n{% endfor %}"
TEMPLATES: dict[str, str | dict[str, str]] = {
    "turns": TURNS,
    "no-system": NO_SYSTEM,
    "several": {"default": TURNS, "plain": NO_SYSTEM, "loud": LOUD},
    "no-default": {"plain": NO_SYSTEM, "loud": LOUD},
}
TASKS = ("tiny_begun", "tiny_blank")
BEGUN = """task: tiny_begun
dataset_path: json
dataset_kwargs:
  data_files:
    train: {folder}/tiny_signs_train.jsonl
    test: {folder}/tiny_signs.jsonl
training_split: train
test_split: test
fewshot_split: train
output_type: multiple_choice
num_fewshot: 1
description: "Functions of n."
gen_prefix: "    return"
doc_to_text: "{{{{prompt}}}}"
doc_to_choice: [" n + 1", "n - 2", "n * n"]
doc_to_target: "{{{{answer % 3}}}}"
metric_list:
  - metric: acc
  - metric: acc_norm
metadata:
  version: 1.0
"""
BLANK = """task: tiny_blank
dataset_path: json
dataset_kwargs:
  data_files:
    test: {folder}/tiny_blank.jsonl
test_split: test
output_type: multiple_choice
doc_to_text: answer
doc_to_choice: "{{{{beginnings}}}}"
doc_to_target: end
metric_list:
  - metric: acc
metadata:
  version: 1.0
"""


def copied(checkpoint: Path, kind: str, folder: Path) -> Path:
    """A checkpoint whose tokenizer has the templates of a kind; the weights are the same."""
    from transformers import AutoTokenizer

    place = folder / kind
    shutil.copytree(checkpoint, place)
    tokenizer = AutoTokenizer.from_pretrained(place)
    tokenizer.chat_template = TEMPLATES[kind]
    tokenizer.save_pretrained(place)
    return place


def write(folder: Path) -> Path:
    """Add a task whose answers have begun, and one with several contexts for one continuation."""
    (folder / "tiny_begun.yaml").write_text(BEGUN.format(folder=folder))
    (folder / "tiny_blank.yaml").write_text(BLANK.format(folder=folder))
    rows = [
        {"beginnings": [f"return n + {n}", f"def n({n})"], "end": f"# plus {n}", "answer": n % 2}
        for n in range(2, 9)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "tiny_blank.jsonl").write_text(lines)
    return folder

"""Reads `--model-args`: how checkpoints are loaded, as lm-eval's option of that name does.

Only what no option of ours covers is taken; for the rest the error names the option.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from .._util.errors import nearest
from .key_values import key_values

KEYS = ("revision", "attn_implementation", "trust_remote_code")
ATTENTIONS = ("eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention")
_EXAMPLE = "KEY=VALUE[,KEY=VALUE...] such as revision=main,attn_implementation=eager"
_OPTIONS: Mapping[str, str] = {
    "pretrained": "--checkpoint=PLACE",
    "model": "--checkpoint=PLACE",
    "base_url": "--checkpoint=http://...",
    "peft": "--checkpoint=BASE+adapter=DIR",
    "tokenizer": "--tokenizer=DIR",
    "dtype": "--dtype",
    "torch_dtype": "--dtype",
    "device": "--device",
    "device_map": "--device",
    "parallelize": "--device",
    "batch_size": "--batch-size",
    "max_batch_size": "--batch-size",
    "max_length": "--seq-len",
    "max_model_len": "--seq-len",
    "max_gen_toks": "--gen-kwargs=max_gen_toks=N",
    "num_concurrent": "--concurrency",
    "max_retries": "--retries",
    "timeout": "--request-timeout",
}


def model_args(text: str) -> dict[str, str]:
    """The arguments by name; those that say what holds anyway are left out.

    Raises:
        argparse.ArgumentTypeError: naming the key, and the option that covers it.
    """
    found = key_values(text, _EXAMPLE, texts=KEYS[:2])
    for key, value in found.items():
        if key in _OPTIONS:
            raise argparse.ArgumentTypeError(f"{key} has an option of its own: {_OPTIONS[key]}")
        if key not in KEYS:
            raise argparse.ArgumentTypeError(
                f"unknown key {key!r}{nearest(key, (*KEYS, *_OPTIONS))}; known are "
                f"{', '.join(KEYS)}"
            )
        if key == "trust_remote_code":
            _refuse_remote_code(value)
        elif not isinstance(value, str) or not value:
            raise argparse.ArgumentTypeError(f"expected a name for {key}, got {value!r}")
    attention = found.get("attn_implementation", ATTENTIONS[0])
    if attention not in ATTENTIONS:
        raise argparse.ArgumentTypeError(
            f"expected attn_implementation to be one of {', '.join(ATTENTIONS)}, got "
            f"{attention!r}{nearest(str(attention), ATTENTIONS)}"
        )
    return {key: str(value) for key, value in found.items() if key != "trust_remote_code"}


def _refuse_remote_code(value: object) -> None:
    if value is True:
        raise argparse.ArgumentTypeError(
            "trust_remote_code=true would run code that lies beside the weights, in this process; "
            "only architectures that transformers has itself are loaded"
        )
    if value is not False:
        raise argparse.ArgumentTypeError(
            f"expected true or false for trust_remote_code, got {value!r}"
        )

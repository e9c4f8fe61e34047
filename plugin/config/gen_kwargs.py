"""Reads `--gen-kwargs`: settings of generating that lm-eval's tasks are asked with.

Keys and values mean what they mean in lm-eval. What the engines here do not do is refused by name:
an answer that ignored a setting would be of another measurement.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from .._util.errors import nearest
from .key_values import key_values

# lm-eval takes any of these as the number of tokens, the first before the others.
_TOKENS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
KEYS = ("temperature", "do_sample", "top_p", "until", *_TOKENS)
_EXAMPLE = "KEY=VALUE[,KEY=VALUE...] such as temperature=0.6,do_sample=true, or a JSON object"
# What other engines know, and the value at which it changes nothing.
_WITHOUT_EFFECT: Mapping[str, Any] = {
    "top_k": (0, -1),
    "min_p": (0,),
    "typical_p": (1,),
    "repetition_penalty": (1,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "length_penalty": (1,),
    "no_repeat_ngram_size": (0,),
    "num_beams": (1,),
    "num_return_sequences": (1,),
    "penalty_alpha": (0,),
}
_INSTEAD: Mapping[str, str] = {
    "stop": "until",
    "stop_sequences": "until",
    "max_length": "max_gen_toks",
    "seed": "--seed",
    "n": "the task's repeats",
}


def gen_kwargs(text: str) -> str:
    """The settings as canonical JSON.

    Raises:
        argparse.ArgumentTypeError: naming the key that is wrong, and the nearest known one.
    """
    return checked_gen_kwargs(key_values(text, _EXAMPLE))


def checked_gen_kwargs(found: Mapping[str, Any]) -> str:
    """Settings as canonical JSON, once every one of them is known to be obeyed.

    Raises:
        argparse.ArgumentTypeError: naming the key that is wrong, and the nearest known one.
    """
    kept = {key: value for key, value in found.items() if not _has_no_effect(key, value)}
    for key, value in kept.items():
        if key not in KEYS:
            raise _unknown(key)
        expected, fits = _FORMS.get(key, _FORMS["max_gen_toks"])
        if not fits(value):
            raise argparse.ArgumentTypeError(f"expected {expected} for {key}, got {value!r}")
    if kept.get("do_sample") is False and kept.get("temperature"):
        raise argparse.ArgumentTypeError(
            f"do_sample=false draws nothing, so temperature={kept['temperature']} would have no "
            "effect; leave one of them out"
        )
    return json.dumps(kept, sort_keys=True, ensure_ascii=False) if kept else ""


def _unknown(key: str) -> argparse.ArgumentTypeError:
    if key in _WITHOUT_EFFECT:
        return argparse.ArgumentTypeError(
            f"{key} is nothing that the engines here do; leave it out, or give the value at which "
            f"it has no effect ({_WITHOUT_EFFECT[key][0]})"
        )
    if key in _INSTEAD:
        return argparse.ArgumentTypeError(f"unknown key {key!r}; it is {_INSTEAD[key]} here")
    return argparse.ArgumentTypeError(
        f"unknown key {key!r}{nearest(key, KEYS)}; known are {', '.join(KEYS)}"
    )


def _has_no_effect(key: str, value: Any) -> bool:
    return _is_number(value) and value in _WITHOUT_EFFECT.get(key, ())


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 1 and value == int(value)


def _is_texts(value: Any) -> bool:
    texts = value if isinstance(value, list | tuple) else [value]
    return all(isinstance(text, str) and text for text in texts)


_FORMS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "temperature": ("a number of at least 0", lambda value: _is_number(value) and value >= 0),
    "do_sample": ("true or false", lambda value: isinstance(value, bool)),
    "top_p": ("a number above 0 and at most 1", lambda v: _is_number(v) and 0 < v <= 1),
    "until": ("a text, or a list of texts", _is_texts),
    "max_gen_toks": ("a whole number of at least 1", _is_count),
}

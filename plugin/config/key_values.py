"""Options that take `KEY=VALUE,KEY=VALUE` or a JSON object, as on lm-eval's command line.

`--gen-kwargs` and `--model-args` mean what they mean in lm-eval. Settings that the engines here do
not implement are refused: answers that ignored them would be another measurement.
"""

from __future__ import annotations

import ast
import json
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection, Mapping
from typing import Any

from .._util.errors import nearest
from .._util.jsonio import is_number
from .parsers import expected

# --gen-kwargs. lm-eval takes any of these as the number of tokens, the first before the others.
_TOKENS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
_GENERATION_KEYS = ("temperature", "do_sample", "top_p", "until", *_TOKENS)
# Settings of other engines, and the values that change nothing.
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

# --model-args: only what none of the options covers.
_MODEL_KEYS = ("revision", "attn_implementation", "trust_remote_code")
_EVERYBODY = ("true", "1", "yes", "on")
ATTENTIONS = ("eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention")
_OPTIONS: Mapping[str, str] = {
    "pretrained": "--checkpoint=SPEC",
    "model": "--checkpoint=SPEC",
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


def gen_kwargs(text: str) -> str:
    """Generation settings as canonical JSON.

    Raises:
        ArgumentTypeError: naming the key that is wrong, and the nearest known one.
    """
    example = "KEY=VALUE[,KEY=VALUE...] such as temperature=0.6,do_sample=true, or a JSON object"
    return checked_gen_kwargs(key_values(text, example))


def checked_gen_kwargs(found: Mapping[str, Any]) -> str:
    """Generation settings as canonical JSON, after checking that the engines implement all.

    Raises:
        ArgumentTypeError: naming the key that is wrong, and the nearest known one.
    """
    kept = {
        key: value
        for key, value in found.items()
        if not (is_number(value) and value in _WITHOUT_EFFECT.get(key, ()))
    }
    for key, value in kept.items():
        if key not in _GENERATION_KEYS:
            raise _unknown(key)
        what, fits = _FORMS.get(key, _FORMS["max_gen_toks"])
        if not fits(value):
            raise expected(f"{what} for {key}", value)
    if kept.get("do_sample") is False and kept.get("temperature"):
        raise ArgumentTypeError(
            f"do_sample=false draws nothing, so temperature={kept['temperature']} would have no "
            "effect; leave one of them out"
        )
    return json.dumps(kept, sort_keys=True, ensure_ascii=False) if kept else ""


def _unknown(key: str) -> ArgumentTypeError:
    if key in _WITHOUT_EFFECT:
        return ArgumentTypeError(
            f"{key} is not supported by the engines here; leave it out, or give the value at which "
            f"it has no effect ({_WITHOUT_EFFECT[key][0]})"
        )
    if key in _INSTEAD:
        return ArgumentTypeError(f"unknown key {key!r}; it is {_INSTEAD[key]} here")
    return ArgumentTypeError(
        f"unknown key {key!r}{nearest(key, _GENERATION_KEYS)}; known are "
        f"{', '.join(_GENERATION_KEYS)}"
    )


def is_texts(value: Any) -> bool:
    """Whether a value is a text that is not empty, or a list of such texts."""
    texts = value if isinstance(value, list | tuple) else [value]
    return all(isinstance(text, str) and text for text in texts)


_FORMS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "temperature": ("a number of at least 0", lambda value: is_number(value) and value >= 0),
    "do_sample": ("true or false", lambda value: isinstance(value, bool)),
    "top_p": ("a number above 0 and at most 1", lambda v: is_number(v) and 0 < v <= 1),
    "until": ("a text, or a list of texts", is_texts),
    "max_gen_toks": (
        "a whole number of at least 1",
        lambda value: is_number(value) and value >= 1 and value == int(value),
    ),
}


def model_args(text: str) -> dict[str, str]:
    """How checkpoints are loaded; arguments that change nothing are left out.

    Raises:
        ArgumentTypeError: naming the key, and the option that covers it.
    """
    example = "KEY=VALUE[,KEY=VALUE...] such as revision=main,attn_implementation=eager"
    found = key_values(text, example, texts=_MODEL_KEYS)
    if str(found.get("trust_remote_code", "")).lower() == "false":
        del found["trust_remote_code"]
    for key, value in found.items():
        if key in _OPTIONS:
            raise ArgumentTypeError(f"{key} has an option of its own: {_OPTIONS[key]}")
        if key not in _MODEL_KEYS:
            raise ArgumentTypeError(
                f"unknown key {key!r}{nearest(key, (*_MODEL_KEYS, *_OPTIONS))}; known are "
                f"{', '.join(_MODEL_KEYS)}"
            )
        if key == "trust_remote_code" and str(value).lower() in _EVERYBODY:
            raise ArgumentTypeError(
                f"trust_remote_code={str(value).lower()} would run code that comes with the "
                "weights, whichever they are, in this process; trust_remote_code=DIR runs that of "
                "one checkpoint, by its folder or its name on the hub: read it first"
            )
        if not isinstance(value, str) or not value:
            raise expected(f"a name for {key}", value)
    attention = found.get("attn_implementation", ATTENTIONS[0])
    if attention not in ATTENTIONS:
        raise ArgumentTypeError(
            f"expected attn_implementation to be one of {', '.join(ATTENTIONS)}, got "
            f"{attention!r}{nearest(str(attention), ATTENTIONS)}"
        )
    return found


def resources(text: str) -> dict[str, float]:
    """What a replica needs of a node of a cluster, by Ray's name of it.

    Raises:
        ArgumentTypeError: an amount is no number above 0, or no whole number where Ray needs one.
    """
    found = key_values(text, "NAME=N[,NAME=N...] such as gpus=0.5 or cpus=4,big_memory=1")
    for name, amount in found.items():
        if not is_number(amount) or amount < 0 or (amount == 0 and name not in ("cpus", "gpus")):
            raise expected(f"a number above 0 for {name}", amount)
        if amount > 1 and amount != int(amount):
            raise expected(f"a whole number, or one below 1, for {name}", amount)
    return {name: float(amount) for name, amount in found.items()}


def key_values(text: str, what: str, texts: Collection[str] = ()) -> dict[str, Any]:
    """The values by key.

    Commas inside brackets and quotes separate nothing. A value is true or false, a number, a
    literal of Python such as a list of texts, or else a text; the last of two for one key counts.

    Args:
        what: what is expected, for the error.
        texts: keys whose values are texts, whatever they look like.

    Raises:
        ArgumentTypeError: it is neither, or an entry has no `=`.
    """
    stripped = text.strip()
    if stripped.startswith("{"):
        try:
            return dict(json.loads(stripped))
        except json.JSONDecodeError as error:
            raise ArgumentTypeError(
                f"expected {what}, got JSON that is not valid: {error}"
            ) from None
    entries = [entry.partition("=") for entry in _entries(stripped)]
    if not entries or not all(equals and key.strip() for key, equals, _ in entries):
        raise expected(what, text)
    named = [(key.strip(), value) for key, _, value in entries]
    return {key: value if key in texts else _value(value) for key, value in named}


def _entries(text: str) -> list[str]:
    """The parts between commas outside of brackets and quotes; none that is empty."""
    parts, quote, depth = [""], "", 0
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[({":
            depth += 1
        elif character in "])}":
            depth = max(0, depth - 1)
        elif character == "," and not depth:
            parts.append("")
            continue
        parts[-1] += character
    return [part for part in parts if part]


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.isdecimal():
        return int(text)
    for read in (float, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return text

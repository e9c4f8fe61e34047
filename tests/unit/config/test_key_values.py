"""`--gen-kwargs` and `--model-args`: read as lm-eval reads its own, and checked by name."""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec

import pytest

from ckptbench.config.key_values import gen_kwargs, key_values, model_args

TEXTS = (
    "temperature=0.6,top_p=0.95,do_sample=true",
    "until=['a,b', \"c\"],max_gen_toks=8",
    "a=1e3,b=-2,c=007,d=None,e=(1, 2),f={'x': [1, 2]},g=x=y,h=False,i=1.",
    "a=1,,b='q,r',",
    'stop=["\\n\\n"]',
)


@pytest.mark.skipif(find_spec("lm_eval") is None, reason="lm-eval is not installed")
@pytest.mark.parametrize("text", TEXTS)
def test_values_are_those_that_lm_eval_reads(text: str) -> None:
    from lm_eval._cli.utils import key_val_to_dict

    assert key_values(text, "settings") == key_val_to_dict(text)


def test_a_json_object_is_read_too() -> None:
    assert json.loads(gen_kwargs('{"until": ["a", "b"], "max_gen_toks": 4}')) == {
        "until": ["a", "b"],
        "max_gen_toks": 4,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_gen_tokens=4", r"unknown key 'max_gen_tokens' \(did you mean 'max_gen_toks'\?\)"),
        ("stop=x", "unknown key 'stop'; it is until here"),
        ("num_beams=4", "num_beams is not supported by the engines here"),
        ("repetition_penalty=1.1", r"at which it has no effect \(1\)"),
        ("top_p=0", "expected a number above 0 and at most 1 for top_p, got 0"),
        ("temperature=warm", "expected a number of at least 0 for temperature, got 'warm'"),
        ("max_gen_toks=1.5", "expected a whole number of at least 1 for max_gen_toks"),
        ("do_sample=maybe", "expected true or false for do_sample"),
        ("do_sample=false,temperature=0.5", "temperature=0.5 would have no effect"),
        ("temperature", "expected KEY=VALUE"),
        ("{'until': 'x'}", "JSON that is not valid"),
    ],
)
def test_settings_that_nobody_obeys_are_refused(text: str, message: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=message):
        gen_kwargs(text)


def test_settings_without_effect_are_left_out() -> None:
    assert gen_kwargs("num_beams=1,top_k=0,repetition_penalty=1.0") == ""
    assert gen_kwargs("temperature=0,num_beams=1") == '{"temperature": 0}'


def test_code_is_trusted_by_the_folder_it_lies_in() -> None:
    assert model_args("trust_remote_code=models/own") == {"trust_remote_code": "models/own"}
    assert model_args('{"trust_remote_code": false}') == {}


def test_loading_options() -> None:
    assert model_args("revision=0123e4,attn_implementation=eager,trust_remote_code=false") == {
        "revision": "0123e4",
        "attn_implementation": "eager",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dtype=float32", "dtype has an option of its own: --dtype"),
        ("max_length=128", "--seq-len"),
        ("pretrained=x", "--checkpoint=SPEC"),
        ("peft=x", r"BASE\+adapter=DIR"),
        ("revison=main", r"unknown key 'revison' \(did you mean 'revision'\?\)"),
        ("attn_implementation=sdp", r"\(did you mean 'sdpa'\?\)"),
        ("trust_remote_code=True", "would run code that comes with the weights"),
        ("trust_remote_code=1", "trust_remote_code=DIR"),
        ('{"trust_remote_code": true}', "trust_remote_code=DIR"),
        ("trust_remote_code=", "expected a name for trust_remote_code"),
        ("revision=", "expected a name for revision"),
    ],
)
def test_loading_options_that_are_not_taken(text: str, message: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=message):
        model_args(text)

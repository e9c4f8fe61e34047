"""The options of lm-eval's tasks: which are asked, and how their prompts are made."""

from __future__ import annotations

from pathlib import Path

from .gen_kwargs import gen_kwargs
from .option import Option
from .parsers import chat_template, names, text, true_or_false, whole_number

LM_EVAL_OPTIONS: tuple[Option, ...] = (
    Option(
        "tasks",
        names,
        (),
        "TASK[,TASK...]",
        "ask these tasks, groups or tags of lm-eval: names, patterns, or YAML files",
        "extend",
    ),
    Option(
        "include-path",
        Path,
        (),
        "DIR",
        "folder with lm-eval tasks of one's own; may be given again",
        "append",
    ),
    Option(
        "num-fewshot",
        whole_number,
        None,
        "N",
        "examples before each question of an lm-eval task (default: what the task says)",
    ),
    Option(
        "apply-chat-template",
        chat_template,
        False,
        "NAME",
        "put the prompts of lm-eval tasks through the checkpoint's chat template; NAME is one of "
        "several",
        bare="true",
    ),
    Option(
        "system-instruction",
        text,
        "",
        "TEXT",
        "what the system says before the prompts of lm-eval tasks",
    ),
    Option(
        "fewshot-as-multiturn",
        true_or_false,
        None,
        "true|false",
        "examples of lm-eval tasks as turns of the conversation (default: true with "
        "--apply-chat-template)",
        bare="true",
    ),
    Option(
        "gen-kwargs",
        gen_kwargs,
        "",
        "KEY=VALUE[,...]",
        "how lm-eval tasks generate, instead of what they say: max_gen_toks, until, temperature, "
        "top_p, do_sample; or a JSON object",
    ),
)

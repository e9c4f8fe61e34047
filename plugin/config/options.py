"""Every option of a session: the one table from which all else about an option follows.

A new option is a new field. The order is that of `pytest --help`: under each heading, what is used
most comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import key_values
from . import parsers as parse
from .shard import Shard
from .tracking_uri import tracking_uri

if TYPE_CHECKING:
    from .._util.jsonio import Scalar
    from .eval_config import EvalPlan


@dataclass(frozen=True, slots=True)
class Option:
    """One option. Its registration, ini setting, parser, help and default are made of this.

    Attributes:
        parse: makes the value from the text, or raises `argparse.ArgumentTypeError`; None for a
            switch without a value.
        default: the value when nothing was given.
        help: without the default, unless that needs explanation.
        many: `append` collects values in a tuple, `extend` joins tuples, `merge` merges mappings.
        bare: its value when it is given without one; empty where it needs one.
        remakes_items: whether it decides which items there are and what they ask, so that the
            command that runs one item again needs it.
        samples: whether it decides how answers are sampled: it is recorded with every run.
        secret: whether its value is never shown or stored.
        exec_limit: the argument of the sandbox that it sets, such as `timeout_s`; empty for others.
            Results record it as `exec_timeout_s`, and `ckptbench judge` has the option too.
        usual: what a limit is that was not given, where its default is None.
        heading: of `pytest --help`, which this option is the first of; empty for those that follow.
        name: `seq-len` for `--seq-len`, `--ckpt-seq-len` and the ini setting `ckpt_seq_len`.
    """

    parse: Callable[[str], Any] | None
    default: Any
    metavar: str
    help: str
    many: str = ""
    bare: str = ""
    remakes_items: bool = False
    samples: bool = False
    secret: bool = False
    exec_limit: str = ""
    usual: Any = None
    heading: str = ""
    name: str = ""

    @property
    def field(self) -> str:
        """Its attribute of `Options`."""
        return self.name.replace("-", "_")

    @property
    def dest(self) -> str:
        """Its ini setting, and its name in pytest's configuration."""
        return f"ckpt_{self.field}"

    @property
    def help_text(self) -> str:
        """The help with the default, where there is one to show."""
        shown = "" if isinstance(self.default, bool | tuple | dict) else self.default
        if shown in (None, "") or "(default" in self.help:
            return self.help
        return f"{self.help} (default {shown})"


def option(
    parse: Callable[[str], Any] | None, default: Any, metavar: str, *, help: str, **more: Any
) -> Any:
    """A field of the dataclass of options; see `Option` for the arguments."""
    metadata = {"option": Option(parse, default, metavar, help, **more)}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def switch(*, help: str, **more: Any) -> Any:
    """An option without a value: off until it is given."""
    return option(None, False, "", help=help, **more)


# A row is an option: its value first, then its help. The formatter would give each part a line.
# fmt: off
# ruff: noqa: RUF009 (`option` gives what `dataclasses.field` gives)
@dataclass(frozen=True)
class Options:
    """The values of all options of a session; a field is `None` where nothing was decided.

    Attributes:
        sources: where each value that is no default was given: `command line`, or the ini file.
    """

    checkpoint: tuple[str, ...] = option(parse.checkpoint_spec, (), "SPEC", many="append",
        heading="checkpoints", remakes_items=True,
        help="checkpoint to measure: a Hugging Face folder, a .pt or .ckpt file, BASE+adapter=DIR, "
        "a server's address, demo-mlm, or a quoted pattern such as 'runs/*/checkpoint-*'")
    checkpoint_pattern: str = option(str, "", "PATTERN", remakes_items=True,
        help="pattern of the checkpoints in a training run's folder given as --checkpoint, such as "
        "'checkpoint_epoch_*.pt' (quoted)")
    from_step: int | None = option(parse.positive_int, None, "N", remakes_items=True,
        help="skip checkpoints before step N")
    device: str = option(parse.device, "auto", "DEVICE", remakes_items=True,
        help=f"device to run on: {parse.DEVICES}")
    gpu: int | None = option(parse.whole_number, None, "N", remakes_items=True,
        help="short for --device=cuda:N")
    dtype: str = option(parse.one_of(*parse.DTYPES), "auto", "|".join(parse.DTYPES),
        remakes_items=True,
        help="data type of the weights (default auto: bf16 on CUDA, fp32 on CPU)")
    seq_len: int | None = option(parse.positive_int_or_auto, None, "N|auto", remakes_items=True,
        help="sequence length in tokens (default auto: that of the checkpoint)")
    max_length: int | None = option(parse.positive_int, None, "N", remakes_items=True,
        help="the same as --seq-len=N")
    tokenizer: Path | None = option(Path, None, "DIR",
        remakes_items=True,
        help="folder of the tokenizer, if the checkpoint has none or another is to be used; for a "
        "server, a copy of its model's tokenizer")
    model_args: Mapping[str, str] = option(key_values.model_args, {}, "KEY=VALUE[,...]",
        many="merge",
        remakes_items=True,
        help="how checkpoints are loaded: revision=REV (of a name on the Hugging Face Hub), "
        f"attn_implementation=NAME ({', '.join(key_values.ATTENTIONS)}), trust_remote_code=DIR "
        "(the one checkpoint whose Python code may run)")
    engine: str = option(parse.one_of("local", "ray"), "local", "local|ray",
        help="where checkpoints are loaded: on this machine, or on the Ray cluster of RAY_ADDRESS "
        "(default local)")
    replicas: int | None = option(parse.positive_int, None, "N",
        help="copies of the model on the Ray cluster (default: as many as its GPUs hold; without "
        "GPUs, one per node)")
    replica_resources: Mapping[str, float] = option(key_values.resources, {}, "NAME=N[,...]",
        many="merge",
        help="what a copy needs of a node: cpus, gpus, or a resource of the cluster's own, such as "
        "gpus=0.5 (default gpus=1)")
    steps_per_epoch: int | None = option(parse.positive_int, None, "N",
        help="optimizer steps per epoch, for checkpoints whose epoch is not known")

    limit: int | float | None = option(parse.limit, None, "N|SHARE",
        heading="benchmarks and data", remakes_items=True,
        help="run only the first N samples of each benchmark, or this share of them; problems of "
        "CodeContests are drawn by --seed")
    # A sample has one id in every part and in the whole: a rerun of it needs no part.
    shard: Shard | None = option(parse.shard, None, "I/N",
        help="run only this part of the samples, such as 3/16; `ckptbench merge` puts the parts "
        "together")
    data_dir: Path | None = option(Path, None, "DIR", remakes_items=True,
        help="run every dataset found in this folder: mbpp/, lambada.jsonl, ...")
    tasks: tuple[str, ...] = option(parse.names, (), "TASK[,TASK...]", many="extend",
        remakes_items=True,
        help="run these lm-eval tasks, groups or tags: names, patterns, or YAML files")
    num_fewshot: int | None = option(parse.whole_number, None, "N", remakes_items=True,
        help="few-shot examples per prompt of an lm-eval task (default: the task's own number)")
    eval_config: EvalPlan | None = option(Path, None, "FILE", remakes_items=True,
        help="JSON, YAML or TOML file that selects benchmarks and tasks, with their settings, or "
        "the name of one that comes with ckptbench: quick, eval_config, base-vs-finetuned")
    protocol: Mapping[str, tuple[str, ...]] = option(parse.protocols, {}, "BENCH=NAME[,NAME...]",
        many="merge", remakes_items=True,
        help="protocols (prompt formats) of a benchmark; the scores of the first are gated")
    k: Mapping[str, tuple[int, ...]] = option(parse.ks, {}, "BENCH=K[,K...]", many="merge",
        remakes_items=True,
        help="values of k for a benchmark's top-k or pass@k scores, such as real=1,5,10")
    seed: int = option(parse.whole_number, 0, "N", samples=True, remakes_items=True,
        help="random seed of sampled answers, of the problems and tests drawn of CodeContests, of "
        "the order of --decide=early, of the samples of --noise-floor, and of simulated p-values")
    data: Mapping[str, Path] = option(parse.data_file, {}, "BENCH=FILE", many="merge",
        remakes_items=True,
        help="data file of a benchmark, such as mbpp=mbpp.jsonl; may be repeated")
    real_data: Path | None = option(Path, None, "FILE", remakes_items=True,
        help="sample file of Real@K (default: the one that comes with ckptbench)")
    lambada_data: Path | None = option(Path, None, "FILE", remakes_items=True,
        help="data file of LAMBADA@1 (default: the one that comes with ckptbench)")
    humaneval_data: Path | None = option(Path, None, "FILE", remakes_items=True,
        help="run HumanEval on this file (HumanEval or HumanEval+)")
    mbpp_data: Path | None = option(Path, None, "FILE", remakes_items=True,
        help="run MBPP on this file (MBPP, sanitized MBPP or MBPP+)")
    codecontests_data: Path | None = option(Path, None, "FILE", remakes_items=True,
        help="run CodeContests on this file")
    codecontests_tests: str = option(parse.contest_tests, "sample:10", "public|all|sample:N",
        remakes_items=True,
        help="tests of a CodeContests program: the public ones, all, or N drawn at random")
    include_path: tuple[Path, ...] = option(Path, (), "DIR", many="append", remakes_items=True,
        help="folder with lm-eval tasks of your own; may be repeated")
    list_benchmarks: bool = switch(
        help="list the benchmarks and whether each would run, then exit without running any")

    num_samples: int = option(parse.positive_int, 1, "N", samples=True, remakes_items=True,
        heading="generation and execution",
        help="generations per problem for pass@k")
    temperature: float = option(parse.temperature, 0.0, "T", samples=True, remakes_items=True,
        help="sampling temperature (default 0: greedy)")
    top_p: float = option(parse.share, 1.0, "P", samples=True, remakes_items=True,
        help="nucleus-sampling threshold")
    max_tokens: int = option(parse.positive_int, 512, "N", samples=True, remakes_items=True,
        help="maximum new tokens per answer")
    batch_size: int | None = option(parse.rows, None, "N|auto",
        help="maximum number of requests in a batch (default auto)")
    batch_tokens: int | None = option(parse.positive_int_or_auto, None, "N|auto",
        help="maximum number of tokens in a batch, including padding (default auto)")
    exact: bool = switch(
        remakes_items=True,
        help="score each text in a batch of its own and share no prefixes: log likelihoods equal "
        "to the last digit to those of lm-eval with --batch_size 1")
    apply_chat_template: bool | str = option(parse.chat_template, False, "NAME", bare="true",
        remakes_items=True,
        help="apply the checkpoint's chat template to the prompts of lm-eval tasks; NAME selects "
        "one of several")
    system_instruction: str = option(parse.text, "", "TEXT",
        remakes_items=True,
        help="system prompt of lm-eval tasks")
    fewshot_as_multiturn: bool | None = option(parse.true_or_false, None, "true|false", bare="true",
        remakes_items=True,
        help="few-shot examples of lm-eval tasks as turns of the conversation (default: true with "
        "--apply-chat-template)")
    gen_kwargs: str = option(key_values.gen_kwargs, "", "KEY=VALUE[,...]",
        remakes_items=True,
        help="generation settings that override those of lm-eval tasks: max_gen_toks, until, "
        "temperature, top_p, do_sample; or a JSON object")
    exec_timeout: float = option(parse.exec_timeout, 3.0, "SECONDS", remakes_items=True,
        exec_limit="timeout_s",
        help="time limit of a generated program, not counting the wait for a processor (default 3)")
    exec_memory: int | None = option(parse.exec_memory, None, "SIZE", remakes_items=True,
        exec_limit="memory_mb", usual=parse.EXEC_MEMORY_MB,
        help="memory limit of a generated program, such as 2G (default 512M; 4G for HumanEval+ and "
        "MBPP+)")
    exec_libraries: tuple[str, ...] = option(parse.exec_libraries, (), "NAME[,NAME...]",
        remakes_items=True, exec_limit="libraries",
        help="installed packages that generated programs may import, such as numpy (default none)")
    unsafe_exec: bool = switch(
        remakes_items=True,
        help="run generated programs even where they cannot be isolated from this machine")

    model: str = option(str, "", "NAME", heading="served models",
        remakes_items=True,
        help="model of a server to measure (default: its only one)")
    serve: str = option(parse.serve, "", "COMMAND", remakes_items=True,
        help="start a server for each checkpoint and measure that: a command with {checkpoint} and "
        "{port}, or one that is known: " + ", ".join(parse.SERVERS))
    header: tuple[parse.Header, ...] = option(parse.header, (), "'NAME: VALUE'", many="append",
        secret=True,
        help="extra HTTP header of requests to a server, never shown or stored; may be repeated")
    concurrency: int = option(parse.positive_int, 16, "N",
        help="maximum number of concurrent requests to a server")
    retries: int = option(parse.whole_number, 6, "N",
        help="how often a failed request to a server is retried")
    request_timeout: float = option(parse.seconds, 600.0, "SECONDS",
        help="time limit of a request to a server, and of its start (default 600)")

    baseline: Path | None = option(Path, None, "FILE", heading="comparison with a baseline",
        help="baseline to compare with: a baseline file, bare numbers, lm-eval results, or a run's "
        "folder; `last` or `best` of the results folder")
    update_baseline: bool = switch(
        help="write the scores of this run to the --baseline file, if the run is complete")
    gate: str = option(parse.one_of(*parse.GATES), "regress", "|".join(parse.GATES),
        help="what makes the exit status 1: a significant regression (regress), any inconclusive "
        "verdict as well (strict), or no score at all (off); errors always do")
    tolerance: Mapping[str, float] = option(parse.tolerances, {}, "METRIC=POINTS[,...]",
        many="merge",
        help="allowed drop in percentage points, for all metrics or by metric (default 1.0)")
    alpha: float = option(parse.probability, 0.05, "P",
        help="significance level")
    must_see: float = option(parse.percentage_points, 0.05, "POINTS",
        help="largest minimum detectable effect, in percentage points, at which a comparison may "
        "conclude `unchanged` (default 5)")
    decide: str = option(parse.one_of("all", "early"), "all", "all|early",
        help="early: ask samples in random order, and stop asking a benchmark when its regression "
        "is certain or a drop of --must-see is excluded (default all)")
    gate_on: tuple[str, ...] = option(parse.names, (), "METRIC[,...]", many="extend",
        help="gate these metrics too, such as real_bits_per_byte or humaneval/pass@5")
    allow_mismatch: tuple[str, ...] = option(parse.settings_names, (), "SETTING[,...]",
        many="extend",
        help="compare with the baseline even if these settings differ, such as "
        "temperature,max_tokens")
    noise_floor: int | None = option(parse.positive_int, None, "N",
        help="after the run, repeat N random samples of each benchmark with another seed and batch "
        "size, and report how many outcomes flip")

    run_id: str = option(parse.run_id, "", "ID", heading="run and output",
        help="name of the run; an existing run is continued (default: date, time and process id)")
    report: tuple[str, ...] = option(parse.report_formats, (), "FORMAT[,...]",
        help="write a report of the run in these formats, such as html,md, into its folder")
    junit: str = option(parse.one_of(*parse.JUNIT), "metrics", "|".join(parse.JUNIT),
        help="test cases of --junitxml: the metrics, failed where they fail the gate, or every "
        "sample, failed where it was missed")
    lang: str = option(parse.one_of("en", "ko"), "", "en|ko",
        help="language of human-readable output: terminal summary, HTML and Markdown reports "
        "(default: ko where LC_ALL, LC_MESSAGES or LANG says so, else en); files for programs stay "
        "English")
    results_dir: Path = option(Path, Path("results"), "DIR",
        help="folder that holds the runs' folders")
    dry_run: bool = switch(
        help="print which samples of which checkpoint would run, and where the results would be "
        "written, then exit")
    no_resume: bool = switch(
        help="generate all answers anew instead of reusing those of earlier runs")
    validate_config: bool = switch(
        help="check the --eval-config file and every name in it, then exit")
    mlflow: str = option(tracking_uri, "", "URI|env|off",
        help="send the finished run to this MLflow server; env: the one in MLFLOW_TRACKING_URI "
        "(default off)")
    sources: Mapping[str, str] = field(default_factory=dict)
    # fmt: on

    @property
    def not_in_data_dir(self) -> tuple[str, ...]:
        """The benchmarks with data neither in `--data-dir` nor by an option."""
        if self.data_dir is None:
            return ()
        from .data_folder import NAMES

        return tuple(name for name in NAMES if getattr(self, f"{name}_data") is None)

    @property
    def sandbox_arguments(self) -> dict[str, Any]:
        """The limits of generated programs as arguments of `Sandbox`."""
        return {each.exec_limit: getattr(self, each.field) for each in exec_limits()}

    def exec_settings(self, own: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """The limits of generated programs, as settings of a result.

        Args:
            own: limits that samples bring along. They come before every limit but one that has no
                default and was given.
        """
        given: dict[str, Scalar] = {}
        usual: dict[str, Scalar] = {}
        for each in exec_limits():
            name, value = f"exec_{each.exec_limit}", getattr(self, each.field)
            usual[name] = ",".join(value) if isinstance(value, tuple) else value
            if each.default is None and value is not None:
                given[name] = value
            elif value is None:
                usual[name] = each.usual
        return {**usual, **own, **given}

    @property
    def is_dry(self) -> bool:
        """Whether the session only prints what it would do."""
        return any(getattr(self, name) for name in DRY)


DRY = ("list_benchmarks", "validate_config", "dry_run")
"""The options that ask to be shown something, and nothing to be measured."""


OPTIONS: tuple[Option, ...] = tuple(
    replace(each.metadata["option"], name=each.name.replace("_", "-"))
    for each in fields(Options)
    if "option" in each.metadata
)
"""The options in the order of their declaration."""


def headings() -> dict[str, tuple[Option, ...]]:
    """The options under each heading of `pytest --help`."""
    found: dict[str, list[Option]] = {}
    for each in OPTIONS:
        if each.heading:
            found[each.heading] = members = []
        members.append(each)
    return {title: tuple(members) for title, members in found.items()}


def exec_limits() -> tuple[Option, ...]:
    """The options that limit generated programs."""
    return tuple(each for each in OPTIONS if each.exec_limit)


def remaking_options() -> tuple[Option, ...]:
    """The options that decide which items there are, and what they ask."""
    return tuple(each for each in OPTIONS if each.remakes_items)


def sampling_options() -> tuple[str, ...]:
    """Fields of the options that decide how answers are sampled."""
    return tuple(each.field for each in OPTIONS if each.samples)

"""Every option, declared once: name, parser, default, help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .option_values import (
    DEVICES,
    DTYPES,
    GATES,
    REPORT_FORMATS,
    checkpoint_spec,
    contest_tests,
    device,
    exec_timeout,
    header,
    ks,
    limit,
    names,
    one_of,
    percentage_points,
    positive_int,
    positive_int_or_auto,
    probability,
    protocols,
    report_formats,
    rows,
    run_id,
    seconds,
    seed,
    settings_names,
    share,
    temperature,
    tolerances,
    whole_number,
)
from .tracking.address import tracking_uri


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        name: `seq-len` for `--seq-len`, `--ckpt-seq-len` and the ini setting `ckpt_seq_len`.
        parse: makes the value from the text, or raises `argparse.ArgumentTypeError`; None for a
            switch without a value.
        default: the value when nothing was given.
        many: `append` collects values in a tuple, `extend` joins tuples, `merge` merges mappings.
    """

    name: str
    parse: Callable[[str], Any] | None
    default: Any
    metavar: str
    help: str
    many: str = ""

    @property
    def field(self) -> str:
        return self.name.replace("-", "_")

    @property
    def dest(self) -> str:
        return f"ckpt_{self.field}"


OPTIONS: tuple[Option, ...] = (
    Option(
        "checkpoint",
        checkpoint_spec,
        (),
        "SPEC",
        "checkpoint to measure: a Hugging Face folder, a .pt or .ckpt file, BASE+adapter=DIR, a "
        "server's address, demo-mlm, or a quoted pattern such as 'runs/*/checkpoint-*'",
        "append",
    ),
    Option(
        "checkpoint-pattern",
        str,
        "",
        "PATTERN",
        "measure what this matches inside a run's folder given as --checkpoint, such as "
        "'checkpoint_epoch_*.pt' (quoted)",
    ),
    Option(
        "from-step",
        positive_int,
        None,
        "N",
        "leave out what a pattern matches of earlier steps",
    ),
    Option(
        "steps-per-epoch",
        positive_int,
        None,
        "N",
        "steps of an epoch, for the epochs of checkpoints that state none",
    ),
    Option(
        "model",
        str,
        "",
        "NAME",
        "which model of a server is asked (default: the only one that it lists)",
    ),
    Option(
        "header",
        header,
        (),
        "'NAME: VALUE'",
        "sent to a server with every request, and never shown or stored; may be given again",
        "append",
    ),
    Option(
        "tokenizer",
        Path,
        None,
        "DIR",
        "folder of the tokenizer, where a checkpoint has none or is to be asked with another; "
        "for a server, a copy of its model's tokenizer",
    ),
    Option(
        "concurrency",
        positive_int,
        16,
        "N",
        "requests that are under way to a server at the same time (default 16)",
    ),
    Option(
        "retries",
        whole_number,
        6,
        "N",
        "how often a request that a server could not answer is sent again (default 6)",
    ),
    Option(
        "request-timeout",
        seconds,
        600.0,
        "SECONDS",
        "time a server has for one answer (default 600)",
    ),
    Option(
        "baseline",
        Path,
        None,
        "FILE",
        "compare with this file: a baseline, bare numbers, lm-eval results, or a run's folder",
    ),
    Option(
        "update-baseline",
        None,
        False,
        "",
        "write the scores of this run to the --baseline file, if the run is complete",
    ),
    Option(
        "gate",
        one_of(*GATES),
        "regress",
        "|".join(GATES),
        "what fails the session: a significant regression (regress), an inconclusive drop too "
        "(strict), or no score at all (off); errors always do",
    ),
    Option(
        "tolerance",
        tolerances,
        {},
        "METRIC=POINTS[,...]",
        "drop allowed in percentage points, for every metric or by metric (default 1.0)",
        "merge",
    ),
    Option("alpha", probability, 0.05, "P", "significance level of the gate (default 0.05)"),
    Option(
        "must-see",
        percentage_points,
        0.05,
        "POINTS",
        "a comparison says `unchanged` only when its minimum detectable effect is at most this, "
        "in percentage points (default 5)",
    ),
    Option(
        "gate-on",
        names,
        (),
        "METRIC[,...]",
        "gate these metrics too, such as real_bits_per_byte or humaneval/pass@5",
        "extend",
    ),
    Option(
        "allow-mismatch",
        settings_names,
        (),
        "SETTING[,...]",
        "compare with the baseline although these settings differ, such as temperature,max_tokens",
        "extend",
    ),
    Option(
        "seq-len",
        positive_int_or_auto,
        None,
        "N|auto",
        "sequence length in tokens (default auto: what the checkpoint says of itself)",
    ),
    Option("limit", limit, None, "N|SHARE", "ask only the first N samples, or this share of them"),
    Option("seed", seed, 0, "N", "seed of everything that is drawn (default 0)"),
    Option(
        "num-samples",
        positive_int,
        1,
        "N",
        "answers drawn for each sample of a benchmark scored by pass@k (default 1)",
    ),
    Option("temperature", temperature, 0.0, "T", "of sampling (default 0: greedy)"),
    Option("top-p", share, 1.0, "P", "share of the probability sampled from (default 1.0)"),
    Option("max-tokens", positive_int, 512, "N", "tokens of a generated answer (default 512)"),
    Option(
        "k",
        ks,
        {},
        "BENCH=K[,K...]",
        "values of k of a benchmark's scores, such as real=1,5,10",
        "merge",
    ),
    Option(
        "protocol",
        protocols,
        {},
        "BENCH=NAME[,NAME...]",
        "protocols to ask a benchmark by; the first one's scores are gated",
        "merge",
    ),
    Option("real-data", Path, None, "FILE", "sample file of Real@K (default: the one shipped)"),
    Option("lambada-data", Path, None, "FILE", "rows of LAMBADA@1 (default: those shipped)"),
    Option("humaneval-data", Path, None, "FILE", "ask HumanEval: its file, or HumanEval+'s"),
    Option("mbpp-data", Path, None, "FILE", "ask MBPP: its file, the sanitized one, or MBPP+'s"),
    Option("codecontests-data", Path, None, "FILE", "ask CodeContests: a file of its problems"),
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
        "codecontests-tests",
        contest_tests,
        "sample:10",
        "public|all|sample:N",
        "tests a CodeContests program is put to: those shown with the problem, all of them, or N "
        "drawn by the seed (default sample:10)",
    ),
    Option("device", device, "auto", "DEVICE", f"{DEVICES} (default auto)"),
    Option(
        "dtype",
        one_of(*DTYPES),
        "auto",
        "|".join(DTYPES),
        "number format of the weights (default auto: bf16 on CUDA, fp32 on CPU)",
    ),
    Option(
        "gpu",
        whole_number,
        None,
        "N",
        "the same as --device=cuda:N",
    ),
    Option(
        "max-length",
        positive_int,
        None,
        "N",
        "the same as --seq-len=N",
    ),
    Option(
        "batch-size",
        rows,
        None,
        "N|auto",
        "requests that an engine gets at once, so that no batch is larger (default auto)",
    ),
    Option(
        "batch-tokens",
        positive_int_or_auto,
        None,
        "N|auto",
        "tokens in one batch, padding included (default auto)",
    ),
    Option(
        "exec-timeout",
        exec_timeout,
        3.0,
        "SECONDS",
        "time a generated program has, waiting for a processor not counted (default 3)",
    ),
    Option(
        "unsafe-exec",
        None,
        False,
        "",
        "run generated programs even where nothing protects this machine from them",
    ),
    Option(
        "eval-config",
        Path,
        None,
        "FILE",
        "JSON, YAML or TOML file that says which benchmarks and tasks run, and how",
    ),
    Option(
        "list-benchmarks",
        None,
        False,
        "",
        "list the benchmarks, and which of them would run; ask nothing",
    ),
    Option(
        "validate-config",
        None,
        False,
        "",
        "check the --eval-config file and every name in it; ask nothing",
    ),
    Option(
        "dry-run",
        None,
        False,
        "",
        "say what would be asked of which checkpoint, and where the results would lie; ask nothing",
    ),
    Option(
        "run-id",
        run_id,
        "",
        "ID",
        "name of the run; a run given again continues (default: date, time and process)",
    ),
    Option(
        "results-dir",
        Path,
        Path("results"),
        "DIR",
        "where runs leave their folders (default results)",
    ),
    Option(
        "report",
        report_formats,
        (),
        ",".join(REPORT_FORMATS),
        "write a report of the run beside its files, in these formats",
    ),
    Option(
        "mlflow",
        tracking_uri,
        "",
        "URI|env|off",
        "send the finished run to this MLflow server; env: the one in MLFLOW_TRACKING_URI "
        "(default off)",
    ),
    Option(
        "no-resume",
        None,
        False,
        "",
        "ask everything again instead of reusing answers of earlier runs",
    ),
    Option(
        "noise-floor",
        positive_int,
        None,
        "N",
        "when all is asked, ask N random samples of each benchmark again with another seed and "
        "batch size, and report how many outcomes flip",
    ),
)

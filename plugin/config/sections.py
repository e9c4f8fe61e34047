"""The headings under which `pytest --help` lists the options, what is used most first."""

from __future__ import annotations

SECTIONS: dict[str, tuple[str, ...]] = {
    "checkpoints": (
        "checkpoint", "checkpoint-pattern", "from-step", "steps-per-epoch", "tokenizer", "dtype",
        "device", "gpu", "seq-len", "max-length", "model-args",
    ),
    "what is asked": (
        "limit", "protocol", "k", "tasks", "num-fewshot", "include-path", "eval-config", "data-dir",
        "real-data", "lambada-data", "humaneval-data", "mbpp-data", "codecontests-data",
        "codecontests-tests", "list-benchmarks",
    ),
    "how it is answered": (
        "num-samples", "temperature", "top-p", "max-tokens", "seed", "gen-kwargs",
        "apply-chat-template", "system-instruction", "fewshot-as-multiturn", "batch-size",
        "batch-tokens", "exec-timeout", "exec-memory", "exec-libraries", "unsafe-exec",
    ),
    "served models": ("model", "header", "concurrency", "retries", "request-timeout"),
    "comparing with a baseline": (
        "baseline", "update-baseline", "gate", "tolerance", "gate-on", "alpha", "must-see",
        "allow-mismatch", "noise-floor",
    ),
    "running and output": (
        "dry-run", "validate-config", "run-id", "no-resume", "results-dir", "report", "mlflow",
    ),
}  # fmt: skip

"""The options that decide what a generated program may use."""

from __future__ import annotations

from .option import Option
from .parsers import exec_libraries, exec_memory, exec_timeout

EXECUTION: tuple[Option, ...] = (
    Option(
        "exec-timeout",
        exec_timeout,
        3.0,
        "SECONDS",
        "time a generated program has, waiting for a processor not counted (default 3)",
    ),
    Option(
        "exec-memory",
        exec_memory,
        None,
        "SIZE",
        "memory a generated program has, such as 2G (default 512M; 4G for HumanEval+ and MBPP+)",
    ),
    Option(
        "exec-libraries",
        exec_libraries,
        (),
        "NAME[,NAME...]",
        "installed packages that generated programs may import, such as numpy (default none)",
    ),
    Option(
        "unsafe-exec",
        None,
        False,
        "",
        "run generated programs even where nothing protects this machine from them",
    ),
)

"""The list of commands, mistyped ones, and what `ckptbench run` hands over to pytest."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ckptbench.cli import _parser, main
from ckptbench.cli.run import fold_pytest_arguments
from ckptbench.config.options import OPTIONS

COMMANDS = (
    *(
        "run",
        "watch",
        "list",
        "show",
        "view",
        "compare",
        "report",
        "baseline",
        "plan",
        "build",
        "judge",
    ),
    *("merge", "store", "mlflow"),
)


def helped(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_the_help_lists_every_command_under_a_task_and_says_what_statuses_mean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = helped(capsys, "--help").splitlines()
    named = [line.split()[0] for line in lines if line.startswith("  ") and line[2:3].isalpha()]
    assert [name for name in named if name in COMMANDS] == list(COMMANDS)
    assert "compare:" in lines
    assert "None" not in " ".join(lines)
    statuses = lines[lines.index("exit status:") + 1 :]
    assert [s.split()[0] for s in statuses if s[2] != " "] == [*"01234", "130", "141"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("report A --format text B", {"paths": [Path("A"), Path("B")], "format": ("text",)}),
        ("merge A -o OUT B", {"parts": [Path("A"), Path("B")], "output": Path("OUT")}),
        ("show RUN --checkpoint C SAMPLE", {"checkpoint": "C", "sample": "SAMPLE"}),
        ("store prune --older-than 100 DIR", {"action": "prune", "folder": Path("DIR")}),
        ("store --older-than 100 prune", {"older_than": 100, "folder": Path("results")}),
        ("report A -- -B", {"paths": [Path("A"), Path("-B")]}),
    ],
)
def test_words_may_follow_options(line: str, words: dict[str, object]) -> None:
    found = vars(_parser().parse_args(line.split()))
    assert {name: found.get(name) for name in words} == words


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("merge -o OUT", "the following arguments are required: DIR"),
        ("show RUN S --checkpoint C T", "unrecognized arguments: T"),
        ("report A --nothing B", "unrecognized arguments: --nothing"),
    ],
)
def test_words_that_lack_and_words_that_nothing_takes_are_named(
    capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_the_command_alone_lists_them_too_and_is_no_success(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 2
    assert capsys.readouterr().out == helped(capsys, "--help")


@pytest.mark.parametrize(
    ("mistyped", "meant"), [(["lst"], "list"), (["store", "verfy"], "verify"), (["rn"], "run")]
)
def test_a_mistyped_command_gets_the_nearest_one(
    mistyped: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(mistyped)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert f"there is no {mistyped[-1]!r} (did you mean {meant!r}?)" in said


@pytest.mark.parametrize(
    "line",
    [
        ["report", "results", "--fromat", "html"],
        ["report", "--fromat=html", "results"],
        ["store", "prune", "--fromat"],
        ["compare", "a", "b", "--fromat", "--", "c"],
    ],
)
def test_a_mistyped_option_gets_the_nearest_of_its_command(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"usage: ckptbench {line[0]}")
    assert "unrecognized arguments: --fromat" in said
    assert ("(did you mean '--format'?)" in said) == (line[0] == "report")


def test_a_word_like_no_command_gets_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["xyz"])
    said = capsys.readouterr().err
    assert all(name in said for name in COMMANDS)


def given(command: str) -> list[str]:
    folded = fold_pytest_arguments(["run", *command.split()])
    return [word.removeprefix("--pytest-argument=") for word in folded[1:]]


@pytest.mark.parametrize(
    ("command", "pytest_arguments"),
    [
        ("a b", "--checkpoint=a --checkpoint=b"),
        ("a --baseline best.json -k real", "--checkpoint=a --baseline best.json -k real"),
        ("--limit=5 a", "--limit=5 --checkpoint=a"),
        ("-v --lf a", "-v --lf --checkpoint=a"),
        ("--dry-run a -qq b", "--dry-run --checkpoint=a -qq --checkpoint=b"),
        ("-n 2 a -n2 b", "-n 2 --checkpoint=a -n2 --checkpoint=b"),
        ("--ckpt-no-resume a", "--ckpt-no-resume --checkpoint=a"),
        ("--apply-chat-template chatml a", "--apply-chat-template chatml --checkpoint=a"),
        ("--option-of-a-plugin value", "--option-of-a-plugin value"),
        ("-k -real a", "-k -real --checkpoint=a"),
    ],
)
def test_run_makes_checkpoints_of_words_that_are_no_option_and_no_value(
    command: str, pytest_arguments: str
) -> None:
    suite = ["--pyargs", "ckptbench.benchmarks"]
    assert given(command) == [*suite, *pytest_arguments.split()]


def test_other_commands_keep_their_arguments() -> None:
    assert fold_pytest_arguments(["compare", "a", "b"]) == ["compare", "a", "b"]


def test_the_help_of_run_is_short_and_has_options_of_the_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = helped(capsys, "run", "demo-mlm", "--help")
    shown = {name for name in (o.name for o in OPTIONS) if f"--{name} " in said}
    assert {"baseline", "limit", "report"} <= shown
    assert len(shown) < len(OPTIONS) / 3
    assert "pytest --help" in said
    assert "pytest-argument" not in said


def completed(line: str) -> set[str]:
    """What a shell offers for the last word of a line, by the protocol of argcomplete."""
    pytest.importorskip("argcomplete")
    asking = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    shell = {"_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SUPPRESS_SPACE": "1"}
    done = subprocess.run(
        ["bash", "-c", f"exec 8>&1; {shlex.quote(sys.executable)} -c {shlex.quote(ENTRY)} >&2"],
        env={**os.environ, **asking, **shell},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines())


ENTRY = "import sys; from ckptbench.cli import main; sys.exit(main())"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("ckptbench me", {"merge"}),
        ("ckptbench store ", {"ls", "verify", "prune"}),
        ("ckptbench run demo-mlm --base", {"--baseline"}),
        ("ckptbench run demo-mlm --top", {"--top-p"}),
        ("ckptbench watch runs --order ", {"oldest-first", "newest-first"}),
        ("ckptbench watch runs --pyt", set()),
    ],
)
def test_a_shell_completes_commands_and_options(line: str, offered: set[str]) -> None:
    assert offered <= completed(line) if line.endswith(" ") else completed(line) == offered


def test_the_page_lists_every_command() -> None:
    page = (Path(__file__).parents[3] / "docs/commands.md").read_text("utf-8")
    assert re.findall(r"^\| `ckptbench (\w+)` \|", page, re.MULTILINE) == list(COMMANDS)


def test_output_that_nobody_reads_any_more_is_no_traceback() -> None:
    command = [sys.executable, "-c", ENTRY, "plan", "--drop=2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141

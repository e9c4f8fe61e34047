"""A table of mistakes: each is told once, in six lines at most, before anything is asked.

A row is a command line with the files it finds. What is said names the thing, the place and the
remedy, and the exit status is 4.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

# In-process runs forget the modules that they import, and torch cannot be imported twice.
import torch
import transformers.models.auto.modeling_auto  # noqa: F401
from safetensors.torch import load_file, save_file
from transformers import (  # noqa: F401
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
)

import ckptbench.benchmarks

pytestmark = pytest.mark.usefixtures("one_lm_eval_index")

SUITE = Path(ckptbench.benchmarks.__file__).parent
MASKED, CAUSAL = SUITE / "demo/demo-mlm/checkpoint-100", SUITE / "demo/demo-code"
SAMPLES = (SUITE / "samples/real_k.jsonl").read_text(encoding="utf-8")
MOST_LINES = 6

Prepare = Callable[[Path], object]
Row = tuple[str, list[str], Prepare, list[str]]


def nothing(path: Path) -> None:
    """The project as it is."""


def file(name: str, content: str | bytes) -> Prepare:
    data = content.encode() if isinstance(content, str) else content

    def prepare(path: Path) -> None:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)

    return prepare


def changed(source: Path, change: Callable[[Path], object]) -> Prepare:
    """A copy of a demo checkpoint, `broken`, with something wrong about it."""

    def prepare(path: Path) -> None:
        shutil.copytree(source, path / "broken")
        change(path / "broken")

    return prepare


def cut(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])


def emptied(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    zeros = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    save_file(zeros, folder / "model.safetensors", {"format": "pt"})


def edited(name: str, **changes: Any) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps(content | changes), encoding="utf-8")

    return edit


def without(*names: str) -> Callable[[Path], object]:
    return lambda folder: [(folder / name).unlink() for name in names]


def with_tokens_of_another(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary |= {f"new{i}": len(vocabulary) + i for i in range(5000)}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")


# Options, in a project whose engine needs no model.
OPTIONS: list[Row] = [
    ("--k", ["--k=word=1,x"], nothing, ["--k", "BENCH=K", "word=1,x"]),
    ("--must-see", ["--must-see=0"], nothing, ["--must-see", "above 0 up to 100"]),
    ("--top-p", ["--top-p=1.5"], nothing, ["--top-p", "at most 1", "'1.5'"]),
    ("--temperature", ["--temperature=-1"], nothing, ["--temperature", "at least 0"]),
    ("--num-samples", ["--num-samples=0"], nothing, ["--num-samples", "at least 1"]),
    ("--max-tokens", ["--max-tokens=many"], nothing, ["--max-tokens", "'many'"]),
    ("--batch-size", ["--batch-size=-2"], nothing, ["--batch-size", "'auto'", "'-2'"]),
    ("--dtype", ["--dtype=float16"], nothing, ["--dtype", "fp16", "'float16'"]),
    ("--noise-floor", ["--noise-floor=0"], nothing, ["--noise-floor", "at least 1"]),
    ("--exec-memory", ["--exec-memory=lots"], nothing, ["--exec-memory", "512M"]),
    ("--exec-timeout", ["--exec-timeout=0"], nothing, ["--exec-timeout", "seconds above 0"]),
    ("--exec-libraries", ["--exec-libraries=nmupy"], nothing, ["'nmupy'", "pip install"]),
    ("--header", ["--header=secretvalue"], nothing, ["--header", "'Name: value'"]),
    ("--report", ["--report=hmtl"], nothing, ["--report", "'hmtl'", "mean 'html'"]),
    ("--model-args", ["--model-args=revison=x"], nothing, ["--model-args", "revison", "revision"]),
    ("--gen-kwargs", ["--gen-kwargs=temperatur=1"], nothing, ["--gen-kwargs", "temperatur"]),
    ("--codecontests-tests", ["--codecontests-tests=some"], nothing, ["sample:10", "'some'"]),
    ("--allow-mismatch", ["--allow-mismatch=temprature"], nothing, ["temprature", "temperature"]),
    ("--gate-on", ["--gate-on=wrod@1"], nothing, ["--gate-on", "wrod@1", "word@1"]),
    ("--tolerance of nobody", ["--tolerance=wrod@1=2"], nothing, ["--tolerance", "word@1"]),
    ("--from-step", ["--from-step=5"], nothing, ["--from-step", "nothing to choose from"]),
    ("--gpu and --device", ["--gpu=1", "--device=cpu"], nothing, ["contradict", "one of them"]),
    ("--max-length", ["--max-length=9", "--seq-len=8"], nothing, ["contradict", "one of them"]),
    ("--validate-config", ["--validate-config"], nothing, ["add --eval-config=FILE"]),
    ("--num-fewshot", ["--system-instruction=x"], nothing, ["--system-instruction", "add --tasks"]),
    ("--data of nobody", ["--data=wrod=x"], nothing, ["'wrod'", "mean 'word'"]),
    ("--data without file", ["--data=word"], nothing, ["--data", "BENCH=FILE"]),
    ("--data that is not read", ["--data=word=x"], nothing, ["word reads no data file"]),
    ("--data-dir", ["--data-dir=none"], nothing, ["none", "there is no such folder"]),
    ("--data-dir without data", ["--data-dir=."], nothing, ["has no dataset", "test.jsonl"]),
    ("--mlflow", ["--mlflow=localhost"], nothing, ["--mlflow", "http://localhost:5000"]),
    ("--baseline=last", ["--baseline=last"], nothing, ["--baseline", "last"]),
    ("a login", ["--checkpoint=http://me:x@host/v1"], nothing, ["without a login", "--header"]),
    (
        "--eval-config",
        ["--eval-config=none.json"],
        nothing,
        ["neither a file nor a shipped configuration", "own files end in .json"],
    ),
    (
        "a configuration with a key misspelt",
        ["--eval-config=e.json"],
        file("e.json", '{"taks": {"word": {}}}'),
        ["e.json", "taks", "tasks"],
    ),
    (
        "a configuration of an entry misspelt",
        ["--eval-config=e.json"],
        file("e.json", '{"tasks": {"word": {"limt": 3}}}'),
        ["e.json", "tasks.word", "limt", "limit"],
    ),
    (
        "a configuration with a benchmark misspelt",
        ["--eval-config=e.json"],
        file("e.json", '{"tasks": {"wrod": {}}}'),
        ["e.json", "wrod", "mean 'word'"],
    ),
    (
        "a configuration that is no JSON",
        ["--eval-config=e.json"],
        file("e.json", "{"),
        ["e.json", "JSON"],
    ),
    (
        "a baseline that is a picture",
        ["--baseline=b.json"],
        file("b.json", b"\x89PNG\r\n\x1a\n\xff\xff"),
        ["b.json", "UTF-8"],
    ),
    (
        "a baseline of metrics that nobody has",
        ["--baseline=b.json"],
        file("b.json", '{"wrod@1": 0.5}'),
        ["b.json", "wrod@1", "word@1"],
    ),
    (
        "a baseline that is a folder without a run",
        ["--baseline=b"],
        file("b/notes.txt", ""),
        ["b: holds no *_baseline.json", "folder of a run"],
    ),
    (
        "a benchmark that raises our error when it is imported",
        [],
        file(
            "test_more.py", "from ckptbench import samples\nsamples([], protocol=(), score=None)\n"
        ),
        ["@samples", "one or more protocols"],
    ),
]


@pytest.mark.parametrize("row", OPTIONS, ids=[row[0] for row in OPTIONS])
def test_an_option_or_a_file_that_cannot_be_used(standard: Any, row: Row) -> None:
    _, arguments, prepare, words = row
    prepare(standard.path)
    told(standard, arguments, words)
    assert standard.asked == []


def told(project: Any, arguments: list[str], words: list[str]) -> str:
    """Run, check what is said, and return all that was printed."""
    result = project.run(*arguments)
    text = f"{result.stdout.str()}\n{result.stderr.str()}"
    said = [line for line in result.errlines if line.strip()]
    assert result.ret == 4, said or text[-800:]
    assert said[0].startswith("ERROR: ")
    assert len(said) <= MOST_LINES
    for word in words:
        assert word in result.stderr.str()
    assert "Traceback" not in text
    assert not (project.path / "results").exists()
    return text


# Data and checkpoints of the suite.
GIVEN = "--checkpoint=broken"
REAL = "--real-data=mine.jsonl"
CODE = "--humaneval-data=mine.jsonl"
DATA: list[Row] = [
    ("no file", [REAL], nothing, ["mine.jsonl", "No such file"]),
    ("empty", [REAL], file("mine.jsonl", ""), ["mine.jsonl: is empty", "The first line"]),
    ("gzip", [REAL], file("mine.jsonl", b"\x1f\x8b\x08rest"), ["gzip", "mine.jsonl.gz"]),
    (
        "not gzip",
        ["--real-data=mine.jsonl.gz"],
        file("mine.jsonl.gz", SAMPLES),
        ["mine.jsonl.gz", "Not a gzipped file", "must be compressed"],
    ),
    ("zip", [REAL], file("mine.jsonl", b"PK\x03\x04rest"), ["zip archive", "unzip mine.jsonl"]),
    ("zstd", [REAL], file("mine.jsonl", b"\x28\xb5\x2f\xfd"), ["zstd -d mine.jsonl"]),
    ("bzip2", [CODE], file("mine.jsonl", b"BZh9"), ["bzip2", "bunzip2 -k mine.jsonl"]),
    ("xz", [CODE], file("mine.jsonl", b"\xfd7zXZ\x00"), ["xz", "unxz -k mine.jsonl"]),
    ("pickle", [CODE], file("mine.jsonl", b"\x80\x04\x95x"), ["pickle", "as JSON lines"]),
    ("Parquet", [REAL], file("mine.jsonl", b"PAR1x"), ["is Parquet", "JSON lines"]),
    ("LFS", [CODE], file("mine.jsonl", "version https://git-lfs.x"), ["Git LFS", "git lfs pull"]),
    ("UTF-16", [REAL], file("mine.jsonl", SAMPLES.encode("utf-16")), ["iconv -f utf-16 -t utf-8"]),
    ("UTF-16LE", [REAL], file("mine.jsonl", SAMPLES.encode("utf-16le")), ["iconv -f utf-16le"]),
    ("UTF-16BE", [CODE], file("mine.jsonl", "{}\n".encode("utf-16be")), ["iconv -f utf-16be"]),
    (
        "cp949",
        [REAL],
        file("mine.jsonl", SAMPLES.encode("cp949", "replace")),
        ["mine.jsonl:2", "not UTF-8", "iconv -f cp949"],
    ),
    ("cut", [REAL], file("mine.jsonl", SAMPLES[:600]), ["mine.jsonl:3", "not JSON"]),
    (
        "cut between lines",
        [REAL],
        file("mine.jsonl", "\n".join(SAMPLES.splitlines()[:9]) + "\n"),
        ["mine.jsonl:1, field 'n'", "8 samples follow"],
    ),
    (
        "texts where samples belong",
        [REAL],
        file("mine.jsonl", "민수는 수박을 샀다.\n"),
        ["mine.jsonl:1", "ckptbench build real-k --text mine.jsonl -o"],
    ),
    (
        "a table of texts where samples belong",
        ["--real-data=mine.tsv"],
        file("mine.tsv", "id\ttext\n1\t강\n"),
        ["mine.tsv:1", "ckptbench build real-k --tsv mine.tsv -o"],
    ),
    (
        "rows where samples belong",
        [REAL],
        file("mine.jsonl", '{"text": "강"}\n'),
        ["mine.jsonl:1", "header is missing", "ckptbench build real-k --jsonl"],
    ),
    (
        "rows without fields",
        [CODE],
        file("mine.jsonl", '{"task_id": "x"}\n'),
        ["mine.jsonl:1", "no known shape", "prompt", "The row holds: task_id"],
    ),
    (
        "a row without its test",
        [CODE],
        file("mine.jsonl", json.dumps(dict.fromkeys(("task_id", "prompt", "entry_point"), "x"))),
        ["mine.jsonl:1", "is missing"],
    ),
    (
        "an ending that nothing reads",
        ["--lambada-data=mine.txt"],
        file("mine.txt", "text\n"),
        ["mine.txt", ".txt", ".jsonl"],
    ),
    (
        "a protocol that covers no sample",
        ["--protocol=real=whole-word", "--protocol=lambada=greedy"],
        nothing,
        ["lambada/greedy", "none of the 120 samples", "lambada/mlm-whole-word"],
    ),
    ("a task of nobody", ["--tasks=helaswag"], nothing, ["--tasks", "helaswag", "'hellaswag'"]),
    ("a folder of tasks", ["--tasks=x", "--include-path=no"], nothing, ["--include-path", "no"]),
    ("no checkpoint", ["--checkpoint=nowhere"], nothing, ["--checkpoint", "nowhere", "demo-mlm"]),
    ("no demo", ["--checkpoint=demo-mlm/checkpoint-7"], nothing, ["checkpoint-7", "nearest"]),
    ("a pattern of nothing", ["--checkpoint=runs/*"], nothing, ["runs/* matches nothing"]),
    (
        "a folder of something else",
        [GIVEN],
        file("broken/notes.txt", ""),
        ["broken is not a checkpoint", "notes.txt", "config.json"],
    ),
    ("a device", ["--checkpoint=demo-mlm", "--device=cuda:99"], nothing, ["cuda:99", "give auto"]),
    ("a tokenizer", ["--checkpoint=demo-mlm", "--tokenizer=no"], nothing, ["--tokenizer", "no"]),
    ("an address", ["--checkpoint=http://"], nothing, ["http://", "http://localhost:8000/v1"]),
    (
        "a masked model asked for programs",
        ["--checkpoint=demo-mlm", "test_problems.py"],
        nothing,
        ["no benchmark asks what the checkpoint answers", "masked"],
    ),
]


@pytest.fixture
def suite(project: Any) -> Any:
    """A project with the suite's benchmarks, and the engines that load what is given."""
    for name in ("real_k", "lambada", "humaneval", "lm_eval", "problems"):
        function = f"test_{name}"
        project.file(f"{function}.py", f"from ckptbench.benchmarks.{function} import {function}\n")
    return project


def of(arguments: list[str]) -> list[str]:
    """A command line with the demo, where it names no checkpoint."""
    named = any(argument.startswith("--checkpoint") for argument in arguments)
    return arguments if named else ["--checkpoint=demo-mlm", *arguments]


SLOW = {"a task of nobody"}  # for the nearest name, lm-eval's index of all tasks is made


@pytest.mark.parametrize(
    "row",
    [pytest.param(r, id=r[0], marks=[pytest.mark.slow] if r[0] in SLOW else []) for r in DATA],
)
def test_data_or_a_checkpoint_that_cannot_be_used(suite: Any, row: Row) -> None:
    _, arguments, prepare, words = row
    prepare(suite.path)
    told(suite, of(arguments), words)


@pytest.mark.slow
def test_a_shard_without_samples_is_no_mistake(suite: Any) -> None:
    """Whether the checkpoint could be asked what is in other shards is not known of it."""
    # Nothing is selected, so that no model is loaded for the shard that has a sample.
    arguments = ["--checkpoint=demo-mlm", "--limit=4", "-k", "problems"]
    shards = [suite.run(*arguments, f"--shard={number}/8") for number in range(1, 9)]
    assert {shard.ret for shard in shards} == {5}, [str(shard.stderr) for shard in shards]


MISSING = [
    ("kiwipiepy", ["--protocol=real=origin"], "ckptbench[korean]"),
    ("tenacity", ["--checkpoint=http://127.0.0.1:9/v1"], "ckptbench[endpoint]"),
    ("httpx", ["--checkpoint=http://127.0.0.1:9/v1"], "ckptbench[endpoint]"),
    ("lm_eval", ["--tasks=hellaswag"], "ckptbench[lm-eval]"),
    ("jinja2", ["--report=html"], "ckptbench[report]"),
    ("peft", ["--checkpoint=demo-mlm/checkpoint-100+adapter=lora"], "ckptbench[adapter]"),
    ("pyarrow", ["--humaneval-data=rows.parquet"], "ckptbench[hub]"),
    ("datasets", ["--humaneval-data=hub:maker/code"], "ckptbench[hub]"),
    ("mlflow", ["--mlflow=http://127.0.0.1:9"], "ckptbench[mlflow]"),
]


@pytest.mark.parametrize(("package", "arguments", "extra"), MISSING, ids=[m[0] for m in MISSING])
def test_a_package_that_is_missing(
    suite: Any, monkeypatch: Any, package: str, arguments: list[str], extra: str
) -> None:
    file("lora/adapter_config.json", '{"peft_type": "LORA"}')(suite.path)
    file("lora/adapter_model.safetensors", "")(suite.path)
    file("rows.parquet", "PAR1")(suite.path)
    hide(monkeypatch, package)
    told(suite, of(arguments), [package.replace("_", "-"), f"pip install '{extra}'"])


def hide(monkeypatch: Any, package: str) -> None:
    """Make a package as good as not installed."""
    import sys

    # The rooms that use lm-eval keep what they loaded.
    own = f"ckptbench.fixtures.{package}"
    for name in [n for n in sys.modules if n.partition(".")[0] == package or n.startswith(own)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


def test_what_is_not_gated_is_left_out_where_its_package_is_missing(
    suite: Any, monkeypatch: Any
) -> None:
    hide(monkeypatch, "kiwipiepy")
    result = suite.run("--checkpoint=demo-mlm", "test_real_k.py", "--dry-run")
    assert result.ret == 0
    text = result.stdout.str()
    assert text.count("real/origin is left out, as it needs kiwipiepy: pip install") == 1
    assert "real/single-mask" in text


# What is found while the checkpoint is loaded.
LOADED: list[Row] = [
    ("weights cut", [GIVEN], changed(MASKED, cut), ["broken", "model.safetensors", "copy"]),
    ("no weights", [GIVEN], changed(MASKED, without("model.safetensors")), ["broken", "weights"]),
    (
        "another shape",
        [GIVEN],
        changed(MASKED, edited("config.json", intermediate_size=20)),
        ["broken", "another shape", "config.json"],
    ),
    (
        "more layers",
        [GIVEN],
        changed(MASKED, edited("config.json", num_hidden_layers=9)),
        ["broken/config.json", "num_hidden_layers"],
    ),
    ("a longer tokenizer", [GIVEN], changed(MASKED, with_tokens_of_another), ["tokens", "rows"]),
    ("no tokenizer", [GIVEN], changed(MASKED, without("tokenizer.json")), ["tokenizer", "broken"]),
    (
        "a tokenizer without a mask",
        [GIVEN],
        changed(MASKED, edited("tokenizer_config.json", mask_token=None)),
        ["mask", "tokenizer_config.json"],
    ),
    ("no text fits", ["--seq-len=3"], nothing, ["--seq-len", "at least 8"]),
]


@pytest.mark.parametrize("row", LOADED, ids=[row[0] for row in LOADED])
def test_a_checkpoint_that_cannot_be_loaded(suite: Any, row: Row) -> None:
    _, arguments, prepare, words = row
    prepare(suite.path)
    told(suite, of([*arguments, "test_real_k.py"]), words)


def with_positions(path: Path) -> None:
    """A masked language model with learned positions for 64 tokens."""
    shutil.copytree(MASKED, path / "broken")
    rows = json.loads((MASKED / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1}
    sizes |= {"vocab_size": rows, "intermediate_size": 8, "max_position_embeddings": 64}
    config = BertConfig(**sizes)
    BertForMaskedLM(config).save_pretrained(path / "broken")


def adapter(base: str, weights: bytes = b"") -> Prepare:
    config = {"peft_type": "LORA", "base_model_name_or_path": base}

    def prepare(path: Path) -> None:
        file("broken/adapter_config.json", json.dumps(config))(path)
        file("broken/adapter_model.safetensors", weights)(path)

    return prepare


def training_file(change: Callable[[Path, dict[str, Any]], object]) -> Prepare:
    """A causal demo's weights as `broken/best.pt`, with something wrong about the file."""

    def prepare(path: Path) -> None:
        changed(CAUSAL, lambda folder: None)(path)
        weights = load_file(path / "broken/model.safetensors")
        (path / "broken/model.safetensors").unlink()
        change(path / "broken/best.pt", weights)

    return prepare


def saved_in_part(file: Path, weights: dict[str, Any]) -> None:
    torch.save({n: w for n, w in weights.items() if "layers.1" not in n}, file)


def cut_when_saved(file: Path, weights: dict[str, Any]) -> None:
    torch.save(weights, file)
    file.write_bytes(file.read_bytes()[:-100])


SAVED = "--checkpoint=broken/best.pt"
SWEPT: list[Row] = [
    *LOADED,
    ("too long", [GIVEN, "--seq-len=65"], with_positions, ["--seq-len", "broken", "at most 64"]),
    ("no kind", [GIVEN], changed(MASKED, edited("config.json", model_type="x")), ["broken", "'x'"]),
    ("no base", [GIVEN], adapter("gone"), ["broken/adapter_config.json", "gone", "+adapter="]),
    (
        "an adapter cut",
        ["--checkpoint=demo-mlm+adapter=broken"],
        adapter("", b"cut"),
        ["broken/adapter_model.safetensors", "copy"],
    ),
    ("a file cut", [SAVED], training_file(cut_when_saved), ["best.pt", "perhaps cut short"]),
    ("a file in part", [SAVED], training_file(saved_in_part), ["best.pt", "lacks", "layers.1"]),
]


@pytest.mark.parametrize("row", SWEPT, ids=[row[0] for row in SWEPT])
def test_one_of_several_checkpoints_that_cannot_be_loaded(suite: Any, row: Row) -> None:
    _, arguments, prepare, words = row
    prepare(suite.path)
    sound = ["--checkpoint=demo-mlm", "--checkpoint=demo-code"]
    assert "loading" not in told(suite, [*sound, *arguments], words)


@contextmanager
def server(status: int, body: str) -> Iterator[str]:
    """The address of a server that answers everything alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    running = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_port}/v1"
    finally:
        running.shutdown()
        running.server_close()


MODELS = '{"data": [{"id": "small"}]}'
SERVERS = [
    ("an error of its own", 500, "out of memory", [], ["500", "start the server"]),
    ("no JSON", 200, "<html>", [], ["JSON: <html>", "check host, port and path"]),
    ("a key is needed", 401, "who are you?", [], ["401", "OPENAI_API_KEY"]),
    ("no such path", 404, "nothing", [], ["lists no models", "--model", "the path"]),
    ("another model", 200, MODELS, ["--model=smal"], ["smal", "small", "--model"]),
]


@pytest.mark.parametrize(("status", "body", "more", "words"), [s[1:] for s in SERVERS])
def test_a_server_that_cannot_be_asked(
    suite: Any, status: int, body: str, more: list[str], words: list[str]
) -> None:
    with server(status, body) as address:
        arguments = [f"--checkpoint={address}", "--retries=0", *more, "test_problems.py"]
        told(suite, arguments, [address, *words])


def test_a_server_that_is_not_there(suite: Any) -> None:
    with server(200, "") as address:
        pass
    arguments = [f"--checkpoint={address}", "--retries=0", "test_problems.py"]
    told(suite, arguments, [address, "no server answers", "start the server first"])
    # One of several too, before the first is asked anything.
    told(suite, ["--checkpoint=demo-code", *arguments], [address, "no server answers"])


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--checkpoint=demo-mlm/checkpoint-100"]])
def test_workers_are_refused_the_same(suite: Any, more: list[str]) -> None:
    pytest.importorskip("xdist")
    arguments = ["-n2", "--checkpoint=demo-mlm", *more, "--seq-len=3", "test_real_k.py"]
    result = suite.run_apart(*arguments)
    assert result.ret == 4
    assert "--seq-len: 3 tokens hold no text" in result.stderr.str()
    assert "INTERNALERROR" not in result.stdout.str()
    assert not (suite.path / "results").exists()


def test_a_wrong_name_is_told_before_other_tests_are_imported(suite: Any) -> None:
    suite.file("test_zzz.py", "raise KeyboardInterrupt")
    told(suite, ["--checkpoint=nowhere"], ["nowhere does not exist"])


def test_what_only_loading_shows_is_told_once_and_costs_no_other_checkpoint(suite: Any) -> None:
    changed(MASKED, emptied)(suite.path)
    result = suite.run("--checkpoint=demo-mlm", GIVEN, "--limit=3", "test_real_k.py")
    assert result.ret == 1
    assert suite.summary["checkpoints"][0]["benchmarks"][0]["coverage"]["scored"] == 3
    text = result.stdout.str().partition("short test summary")[0]
    assert text.count("every weight matrix is zero") == 2  # when it happens, and in full

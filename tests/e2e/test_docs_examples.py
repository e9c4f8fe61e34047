"""The examples of docs/ run: the code of a benchmark, the commands of a CI."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from run_folder import RunFolder

REPOSITORY = Path(__file__).parents[2]
WORKFLOW = ".github/workflows/ckptbench.yml"


def text_of(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def modules(page: str) -> dict[str, str]:
    """The Python blocks that are whole files, by file name."""
    pattern = r'^```python title="([^"]+)"\n(.*?)^```$'
    return dict(re.findall(pattern, text_of(page), re.MULTILINE | re.DOTALL))


def commands(page: str) -> list[str]:
    """The lines of the shell blocks, also of those inside a list."""
    blocks = re.findall(r"^ *```shell\n(.*?)^ *```$", text_of(page), re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines()]


def command_of(page: str, part: str) -> str:
    """The one command of a page that holds a part."""
    (found,) = [command for command in commands(page) if part in command]
    return found


def scores(folder: Path) -> dict[str, float | None]:
    return RunFolder.latest(folder).values


# docs/writing-a-benchmark.md


@pytest.fixture
def authors_folder(tmp_path: Path, make_elsewhere: Any) -> Any:
    """A folder with the page's benchmarks, and without its engine."""
    workspace = make_elsewhere(tmp_path)
    for name, code in modules("docs/writing-a-benchmark.md").items():
        if name != "conftest.py":
            (workspace.path / name).write_text(code, encoding="utf-8")
    return workspace


@pytest.mark.slow
def test_a_benchmark_in_twenty_lines(authors_folder: Any) -> None:
    code = modules("docs/writing-a-benchmark.md")["test_capitals.py"]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    authors_folder.run(commands("docs/writing-a-benchmark.md")[0]).expect(0)
    assert set(scores(authors_folder.path)) == {"capitals@1", "capitals@3"}


@pytest.mark.slow
def test_an_engine_of_ones_own_needs_no_checkpoint(authors_folder: Any) -> None:
    code = modules("docs/writing-a-benchmark.md")["conftest.py"]
    (authors_folder.path / "conftest.py").write_text(code, encoding="utf-8")
    command = commands("docs/writing-a-benchmark.md")[1]
    assert "engine (cities 2)" in authors_folder.run(f"{command} -v").expect(0)
    assert scores(authors_folder.path) == {"capitals@1": 1 / 4, "capitals@3": 2 / 4}


@pytest.mark.slow
def test_a_graded_benchmark(authors_folder: Any) -> None:
    code = modules("docs/writing-a-benchmark.md")["conftest.py"]
    (authors_folder.path / "conftest.py").write_text(code, encoding="utf-8")
    authors_folder.run("pytest test_capitals_rank.py").expect(0)
    assert scores(authors_folder.path) == {"reciprocal_rank": (1 + 1 / 2) / 4}


# docs/ci.md and the workflow


@pytest.fixture(scope="module")
def teams_folder(tmp_path_factory: pytest.TempPathFactory, make_elsewhere: Any) -> Any:
    """Somebody's folder with the wheel installed: two checkpoints, both the newest of the demo."""
    workspace = make_elsewhere(tmp_path_factory.mktemp("team"))
    demo = REPOSITORY / "benchmarks/demo/demo-mlm"
    newest = max(demo.glob("checkpoint-*"), key=lambda c: int(c.name.partition("-")[2]))
    for name in ("checkpoint-655", "checkpoint-700"):
        shutil.copytree(newest, workspace.path / "runs/x" / name)
    (workspace.path / "baselines").mkdir()
    made = workspace.run(command_of("docs/ci.md", "--update-baseline")).expect(0)
    assert "baselines/best.json was written" in made
    return workspace


@pytest.mark.slow
def test_the_baseline_keeps_the_tolerance_it_was_made_with(teams_folder: Any) -> None:
    baseline = json.loads((teams_folder.path / "baselines/best.json").read_text("utf-8"))
    assert baseline["benchmarks"]["real/whole-word"]["tolerance"] == {"real@5": 0.015}


@pytest.mark.slow
def test_the_command_for_other_ci_systems(teams_folder: Any) -> None:
    teams_folder.run(command_of("docs/ci.md", "--junitxml=junit.xml")).expect(0)
    suite = ElementTree.parse(teams_folder.path / "junit.xml").getroot()[0]
    cases = [(case.get("classname"), case.get("name")) for case in suite.iter("testcase")]
    assert ("checkpoint-700/real/whole-word", "real@1") in cases
    assert cases[-1] == ("ckptbench", "gate")
    assert len(cases) < 20, "a case for each metric, not for each of 300 samples"
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")


def workflow_of_the_page() -> dict[str, str]:
    """The commands of the workflow that docs/ci.md shows, by step."""
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", text_of("docs/ci.md"), re.MULTILINE | re.DOTALL)
    (job,) = yaml.safe_load(block)["jobs"].values()
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


@pytest.mark.slow
def test_the_workflow_of_the_page_is_the_same_command(teams_folder: Any) -> None:
    steps = workflow_of_the_page()
    assert set(steps) == {"Install", "Gate"}  # what is installed is what these tests run in
    assert command_of("docs/ci.md", "--junitxml").startswith(steps["Gate"])


@pytest.mark.slow
def test_a_plan_is_made_of_the_baseline(teams_folder: Any) -> None:
    planned = teams_folder.run(command_of("docs/ci.md", "ckptbench plan")).expect(0)
    assert re.search(r"^real@1 \(real/whole-word\): .*% of 232 samples", planned, re.MULTILINE)
    assert "MDE at n = 232" in planned
    assert "3% flips" in (teams_folder.path / "plan.svg").read_text("utf-8")


@pytest.mark.slow
def test_on_a_processor_in_fp32_no_outcome_changes_with_the_batch(teams_folder: Any) -> None:
    floor = teams_folder.run(
        "ckptbench run runs/x/checkpoint-700 -k real --limit=60 "
        "--protocol=real=whole-word --noise-floor=30"
    ).expect(0)
    assert "noise floor: 0 of 30 samples flipped" in floor


@pytest.mark.slow
@pytest.mark.parametrize("part", ["--gate=strict", "--run-id=nightly"])
def test_the_other_commands_are_accepted(teams_folder: Any, part: str) -> None:
    """They differ in what the tests of the gate and of the store look at: collecting is enough."""
    command = command_of("docs/ci.md", part)
    assert "::test_real_k[" in teams_folder.run(f"{command} --collect-only -q").expect(0)


@pytest.mark.slow
def test_the_workflow_of_a_fork_gates_and_reports(workspace: Any, tmp_path: Path) -> None:
    workflow = yaml.safe_load(text_of(WORKFLOW))
    steps = workflow["jobs"]["gate"]["steps"]
    runs = {step["name"]: step["run"] for step in steps if "run" in step}
    assert set(runs) == {"Install", "Gate"}
    (checks,) = [s for s in workflow["jobs"]["checks"]["steps"] if "run" in s]
    assert (REPOSITORY / checks["run"]).stat().st_mode & 0o111
    page = tmp_path / "summary.md"
    defaults = {
        name: re.fullmatch(r"\$\{\{ inputs\.\w+ \|\| '(.*)' \}\}", value)[1]  # type: ignore[index]
        for name, value in workflow["env"].items()
        if value.startswith("${{")
    }
    assert set(defaults) == {"CHECKPOINT", "BASELINE", "GATE"}
    workspace.run(
        runs["Gate"],
        **defaults,
        GITHUB_ACTIONS="true",
        GITHUB_RUN_ID="7",
        GITHUB_STEP_SUMMARY=str(page),
    ).expect(0)
    table, _, rest = page.read_text("utf-8").partition("\n\n**")
    assert table.startswith("## ckptbench\n\n| checkpoint |")
    assert rest.startswith("identical")
    assert (workspace.path / "results/ci-7/summary.json").exists()
    assert (workspace.path / "junit.xml").exists()


# docs/comparing.md


@pytest.mark.slow
def test_runs_are_compared_merged_and_reported_as_the_page_says(
    tmp_path: Path, make_elsewhere: Any
) -> None:
    workspace = make_elsewhere(tmp_path)
    outputs = {}
    for command in commands("docs/comparing.md"):
        outputs[command.partition(" -")[0]] = workspace.run(command).expect(0)
    table = re.findall(r"^```text\n(before: .*?)^```$", text_of("docs/comparing.md"), re.M | re.S)
    shown = [line.split()[0] for line in table[0].splitlines() if line]
    printed = outputs["ckptbench compare results/before results/after"].splitlines()
    assert [line.split()[0] for line in printed[: len(table[0].splitlines())] if line] == shown
    assert (
        "2 parts merged into results/both"
        in outputs["ckptbench merge results/before results/after"]
    )
    for file in ("comparison.md", "comparison.json", "report/report.txt", "report/report.html"):
        assert (workspace.path / file).stat().st_size > 200
    again = workspace.run(
        "ckptbench run demo-mlm --baseline=baselines/best.json "
        "-k real --limit=60 --protocol=real=whole-word"
    ).expect(0)
    assert "compared with baselines/best.json" in again
    checkpoints = "demo-mlm/checkpoint-1500 demo-mlm/checkpoint-6000 -k real"
    options = "--limit=60 --protocol=real=whole-word --run-id=both"
    continued = workspace.run(f"ckptbench run {checkpoints} {options}").expect(0)
    assert "0 answers computed, 120 reused" in continued


# docs/extending.md


@pytest.mark.slow
def test_a_model_object_is_asked_like_its_checkpoint(workspace: Any) -> None:
    code = modules("docs/extending.md")["conftest.py"]
    (command,) = [line for line in commands("docs/extending.md") if line.startswith("pytest")]
    command += " -k 'not origin'"  # its analyser takes seconds to load
    workspace.run(f"{command} --checkpoint=demo-mlm/checkpoint-6000 --device=cpu").expect(0)
    of_checkpoint = scores_by_protocol(workspace.path)
    (workspace.path / "benchmarks/conftest.py").write_text(code, encoding="utf-8")
    shutil.rmtree(workspace.path / "results")
    output = workspace.run(command).expect(0)
    assert scores_by_protocol(workspace.path) == of_checkpoint
    assert "demo-6000-by-hand" in (next(workspace.path.glob("results/*/summary.json"))).read_text()
    assert "checkpoint-6000" not in output


def scores_by_protocol(folder: Path) -> dict[tuple[str, str], float]:
    return {
        (protocol, score["metric"]): score["value"]
        for protocol, benchmark in RunFolder.latest(folder).benchmarks.items()
        for score in benchmark["scores"]
    }


@pytest.mark.slow
def test_a_metric_of_ones_own(authors_folder: Any) -> None:
    code = modules("docs/extending.md")["median.py"]
    engine = modules("docs/writing-a-benchmark.md")["conftest.py"]
    (authors_folder.path / "median.py").write_text(code, encoding="utf-8")
    conftest = f"{engine}\nfrom median import Median\n"
    (authors_folder.path / "conftest.py").write_text(conftest, encoding="utf-8")
    rank = authors_folder.path / "test_capitals_rank.py"
    text = rank.read_text(encoding="utf-8").replace('mean("reciprocal_rank")', "Median()")
    rank.write_text(f"from median import Median\n{text}", encoding="utf-8")
    authors_folder.run("pytest test_capitals_rank.py").expect(0)
    assert scores(authors_folder.path) == {"rank_median": (1 + 1 / 2) / 4}


# docs/clusters.md


@pytest.mark.slow
def test_jobs_of_an_array_make_one_run(teams_folder: Any) -> None:
    """The scripts are run as SLURM runs them: with the variables of their task."""
    page = text_of("docs/clusters.md")
    scripts = dict(re.findall(r'^```bash title="([^"]+)"\n(.*?)^```$', page, re.M | re.S))
    assert set(scripts) == {"measure.sbatch", "merge.sbatch"}
    (last,) = re.findall(r"--array=1-(\d+)", scripts["measure.sbatch"])
    (given,) = re.findall(r"^job=\$\((CHECKPOINT=\S+) sbatch", page, re.M)
    variables = dict([given.split("=", 1)])
    for task in range(1, int(last) + 1):
        narrow = scripts["measure.sbatch"].rstrip("\n") + " -k real --protocol=real=whole-word\n"
        teams_folder.run(
            narrow, **variables, SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_COUNT=last
        ).expect(0)
    merge = scripts["merge.sbatch"].rstrip("\n").replace(" --baseline=baselines/best.json", "")
    merged = teams_folder.run(merge).expect(0)
    assert f"{last} parts merged into results/measured" in merged
    assert RunFolder(teams_folder.path / "results/measured").summary["complete"]


def test_the_jobs_of_a_matrix_are_shards_of_one_run() -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", text_of("docs/clusters.md"), re.M | re.S)
    jobs = yaml.safe_load(block)["jobs"]
    shards = jobs["measure"]["strategy"]["matrix"]["shard"]
    assert shards == list(range(1, len(shards) + 1))
    measure = next(step["run"] for step in jobs["measure"]["steps"] if "run" in step)
    assert f"--shard=${{{{ matrix.shard }}}}/{len(shards)} " in measure
    (name,) = re.findall(r"--run-id=(.*)", measure)
    uploads = [
        step["with"] for step in jobs["measure"]["steps"] if "upload" in step.get("uses", "")
    ]
    assert uploads == [{"name": name, "path": f"results/{name}"}]
    gate = next(step["run"] for step in jobs["gate"]["steps"] if "run" in step)
    assert gate.split()[:3] == ["ckptbench", "merge", f"results/{name.partition('$')[0]}*"]

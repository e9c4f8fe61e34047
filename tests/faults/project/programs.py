"""Forty programs, judged in the sandbox, half of them wrong."""

from __future__ import annotations

from ckptbench import EvalProtocol, Generate, Sample, pass_at_k, samples
from ckptbench.fixtures.sandbox import FunctionTask

ROWS = [Sample(f"f-{i:02}", {"prompt": f"def f_{i:02}(x):\n"}) for i in range(40)]


def ask(sample, asking):
    return Generate(sample["prompt"])


def execute(sample, response, trial):
    """Each takes a while, so that it can be killed while it runs."""
    name = sample["prompt"][4:8]
    program = f"import time\n{sample['prompt']}    time.sleep(0.02)\n{response.text}"
    return FunctionTask(sample.id, program, f"assert {name}(1) == 2\nassert {name}(5) == 6", name)


@samples(ROWS, protocol=(EvalProtocol("f/programs", ask, execute=execute),), score=pass_at_k(1))
def test_programs(execution):
    assert execution.passed

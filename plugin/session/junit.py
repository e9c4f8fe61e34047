"""pytest's `--junitxml` with the metrics of the gate as test cases instead of the samples.

A sample that is missed is a failed item to pytest, and CI systems show each failure of the file: a
gate that passed would look red. See `reports.junit` for the cases.
"""

from __future__ import annotations

from collections.abc import Container, Generator
from itertools import islice
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

import pytest
from _pytest.junitxml import LogXML, bin_xml_escape, xml_key

from ..reports.junit import junit_cases
from ..results.outcome import is_sample

if TYPE_CHECKING:
    from .session import BenchSession

ERRORS_WRITTEN = 100  # a model that fails would write one for each of thousands of samples


class JUnitOfMetrics:
    """A plugin of the main process: keeps samples from pytest's XML file, and adds the metrics."""

    def __init__(self, bench: BenchSession) -> None:
        self._bench = bench
        self._written: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Pass on to pytest's writer what is no sample."""
        xml = session.config.stash.get(xml_key, None)
        if xml is None:
            return
        write = xml.pytest_runtest_logreport

        def without_samples(report: pytest.TestReport) -> None:
            if not is_sample(report):
                self._written.add(report.nodeid)
                write(report)

        # Registered anew: pytest looks for the hooks of a plugin once.
        manager = session.config.pluginmanager
        manager.unregister(xml)
        xml.pytest_runtest_logreport = without_samples  # type: ignore[method-assign]
        manager.register(xml)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Add the metrics and the errors: the run is concluded, and the file is not yet written."""
        if (xml := session.config.stash.get(xml_key, None)) is not None:
            _add_errors(xml, self._bench, self._written)
            _add_metrics(xml, self._bench)
        return (yield)


def _add_errors(xml: LogXML, bench: BenchSession, written: Container[str]) -> None:
    outcomes = bench.run.outcomes.by_nodeid.items()
    errors = ((n, each) for n, each in outcomes if each.status == "error" and n not in written)
    for nodeid, outcome in islice(errors, ERRORS_WRITTEN):
        reporter = xml.node_reporter(nodeid)
        location = (nodeid.partition("::")[0], None, nodeid)
        report = pytest.TestReport(nodeid, location, {}, "failed", outcome.detail, "call")
        reporter.record_testreport(report)
        reporter.append(Element("error", message=bin_xml_escape(outcome.detail)))


def _add_metrics(xml: LogXML, bench: BenchSession) -> None:
    if bench.result.failure:
        _add(xml, "ckptbench", "gate").append(
            Element("error", message=bin_xml_escape(bench.result.failure))
        )
    if bench.result.summary is None:
        return
    for case in junit_cases(bench.result.summary):
        reporter = _add(xml, case.classname, case.name)
        for name, value in case.properties.items():
            reporter.add_property(name, value)
        if message := case.failure or case.skipped:
            tag = "failure" if case.failure else "skipped"
            reporter.append(Element(tag, message=bin_xml_escape(message)))
        else:
            xml.add_stats("passed")


def _add(xml: LogXML, classname: str, name: str) -> Any:
    reporter = xml.node_reporter(f"ckptbench-{len(xml.node_reporters_ordered)}")
    parts = [xml.prefix, classname] if xml.prefix else [classname]
    reporter.attrs.update(classname=bin_xml_escape(".".join(parts)), name=bin_xml_escape(name))
    return reporter

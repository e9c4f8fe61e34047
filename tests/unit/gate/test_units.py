"""Differences in the unit of their metric."""

from __future__ import annotations

import pytest

from ckptbench.gate.units import points, points_interval, size, value, value_interval


@pytest.mark.parametrize(
    ("difference", "unit", "text", "signed"),
    [
        (-0.0131, "share", "1.31 pp", "-1.31 pp"),
        (0.042, "share", "4.20 pp", "+4.20 pp"),
        (-1.5, "points", "1.50 points", "-1.50 points"),
        (0.02436, "bits_per_byte", "0.02436 bits/byte", "+0.02436 bits/byte"),
        (-12.0, "", "12", "-12"),
        (1.5, "seconds", "1.5 s", "+1.5 s"),
        (0.25, "perplexity", "0.25", "+0.25"),
        (-0.00001, "share", "0.00 pp", "+0.00 pp"),
        (0.0, "points", "0.00 points", "+0.00 points"),
        (None, "share", "-", "-"),
    ],
)
def test_a_difference_has_the_unit_of_its_metric(
    difference: float | None, unit: str, text: str, signed: str
) -> None:
    assert (size(difference, unit), points(difference, unit)) == (text, signed)


def test_a_value_and_its_interval_are_in_per_cent_of_a_share() -> None:
    assert (value(0.6778), value(26.02, "points"), value(None)) == ("67.78%", "26.020", "-")
    assert value_interval((0.6588, 0.6962)) == "[65.88, 69.62]"
    assert value_interval((24.981, 27.102), "points") == "[24.981, 27.102]"
    assert value_interval(None) == "-"


def test_an_interval_is_in_hundredths_of_a_share_and_in_other_units() -> None:
    assert points_interval(None) == "-"
    assert points_interval((-0.021, 0.0054)) == "[-2.10, +0.54]"
    assert points_interval((-0.021, 0.5), "bits_per_byte") == "[-0.021, +0.5]"

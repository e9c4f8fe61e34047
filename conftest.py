"""What both the benchmarks and the tests of this repository need."""

from __future__ import annotations

# pytest takes this from the topmost conftest only. `tests/pytester` runs the plugin with it.
pytest_plugins = ("pytester",)

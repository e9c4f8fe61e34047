"""One file that says which benchmarks run, with what settings: `--eval-config`."""

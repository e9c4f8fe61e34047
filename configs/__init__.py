"""Configurations that `--eval-config` takes by name: each a file to be copied and edited."""

"""What the user requested: the table of options, their parsers, `--eval-config`."""

"""What the user asked for: the table of options, their parsers, `--eval-config`."""

"""Charts: what is drawn (`series`), and how it is drawn as files (`figures`)."""

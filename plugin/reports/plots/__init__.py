"""Charts: what is drawn (`series`), and how (`figures`)."""

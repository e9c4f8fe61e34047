"""What people and tools see of a run: terminal, JSON, Markdown, HTML, charts, GitHub."""

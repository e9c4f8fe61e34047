"""What people and tools see of a run: terminal, JSON, Markdown, HTML, charts, GitHub."""

INSTALL = "Install it with: pip install 'ckptbench[report]'"

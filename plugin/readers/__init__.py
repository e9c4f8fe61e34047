"""Reading results, ours and other tools', into measurements: one module an origin."""

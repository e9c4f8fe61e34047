"""What benchmarks, fixtures and engines agree on: samples, requests, protocols, engines."""

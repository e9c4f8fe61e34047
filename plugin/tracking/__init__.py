"""Send a finished run's folder to an MLflow server."""

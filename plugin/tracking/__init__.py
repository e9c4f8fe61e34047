"""Sending a run that lies on disk to an MLflow server."""

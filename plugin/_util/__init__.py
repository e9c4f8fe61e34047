"""Helpers without an idea of the project's own: files, JSON, names, text. Imports no other room."""

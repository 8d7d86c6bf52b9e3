"""The desk of the running tests."""

from tests.jobs.running.conftest import backend, desk

__all__ = ["backend", "desk"]

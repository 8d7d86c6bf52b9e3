"""The fixtures of :mod:`pytest_ramet`, under the name that a ``conftest.py`` may ask for outright."""

from pytest_ramet import fake_clock, fresh_ramet

__all__ = ["fake_clock", "fresh_ramet"]

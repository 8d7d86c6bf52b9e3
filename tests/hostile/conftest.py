"""A fresh database, once per backend."""

from tests.conformance.conftest import backend

__all__ = ["backend"]

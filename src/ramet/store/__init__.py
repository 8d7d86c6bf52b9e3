"""Storage of tasks. The only package with SQL or a database driver.

The store decides nothing: it reads standings, asks :mod:`ramet.model` for the change, and applies the answer in one
transaction. :class:`ramet.store.store.Store` has its verbs, :func:`ramet.store.opening.open_store` opens one.
"""

from ramet.store.errors import StoreError
from ramet.store.opening import open_store
from ramet.store.store import Store

__all__ = ["Store", "StoreError", "open_store"]

"""The command line: ``ramet``. On the public API only; it knows no product.

Commands of pipelines and extras come in through the entry-point group ``ramet.commands`` and are loaded when named.
Whatever a user can cause ends as one line on standard error, ``ramet: ...``, which says what to do, and exit status 2.
Text that came from tasks (keys, errors, titles) is escaped before a terminal sees it.
"""

from ramet.cli.commands import main

__all__ = ["main"]

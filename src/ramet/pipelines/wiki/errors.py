"""The pipeline's errors, each with one line that says what to do, and the import of what the extra brings.

Every error a user can cause is a `UserError`: a `WikiError`, or one of `ramet.pipelines.shared`.
"""

from __future__ import annotations

import importlib
from typing import Any

from ramet import Permanent, Transient
from ramet.pipelines.shared.errors import UserError

WIKI_EXTRA = "'ramet[wiki]'"
"""The extra that installs what the pipeline needs by default, as a shell is told."""


class WikiError(UserError):
    """What a user can put right of this pipeline."""


class ExtraMissing(WikiError):
    """A package that is needed for what was asked is not installed."""


class DatasetError(WikiError):
    """A package that carries data could not be fetched, read or verified."""


class SourceError(WikiError):
    """A file of articles cannot be read as one."""


class UnknownSeed(WikiError):
    """The source has no article that a given seed could mean."""


class RunNotFound(WikiError):
    """The database holds no such run."""


class NotInRun(WikiError):
    """The run has no such title."""


class ArticleNotFound(WikiError):
    """The source has no article of this title. Permanent: no retry can help (DESIGN §6)."""


class NotInGraph(WikiError):
    """The graph has no article of this title, under whatever name."""


class GraphError(WikiError):
    """The graph file is missing, unreadable, or not a graph of this pipeline."""


class GraphBusy(GraphError):
    """Another writer holds the graph; a graph admits one."""


class GraphMismatch(GraphError):
    """The graph was built with another embedding model or by another version; vectors are never mixed."""


class EmbedderError(WikiError, Permanent):
    """An embedder is named wrongly, refused us, or answered what cannot be used; trying again gives the same.

    The fault is the setting's and not the article's: mend it, then revive what failed.
    """


class EmbedderBusy(Transient, WikiError):
    """An endpoint for embeddings could not be reached, or failed on its side; trying again can help."""


def one_line(text: object) -> str:
    """Fold a message that spans lines, as a driver's may, into one."""
    return " ".join(str(text).split())


def import_extra(module: str, package: str = WIKI_EXTRA) -> Any:
    """Import `module` when it is first needed; `package` is what installs it, as pip is told.

    Typed `Any` because most of these packages ship no types.

    Raises:
        ExtraMissing: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ExtraMissing(
            f"the wiki pipeline needs the package '{module}': install it with `pip install {package}`"
        ) from error

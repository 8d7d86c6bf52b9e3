"""The pipeline's errors, each with one line that says what to do.

Every error a user can cause is a `UserError`: a `WikiError`, or one of `ramet.commands`.
"""

from __future__ import annotations

from ramet import Permanent, Transient
from ramet.commands.errors import UserError

WIKI_EXTRA = "'ramet[wiki]'"
"""The extra that installs what the pipeline needs by default, quoted for a shell."""
MCP_EXTRA = "'ramet[wiki-mcp]'"
"""The extra that installs the SDK of the Model Context Protocol."""


class WikiError(UserError):
    """Error of this pipeline that a user can correct."""


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

    The fault is the setting's and not the article's: correct it, then retry the tasks that failed.
    """


class EmbedderBusy(Transient, WikiError):
    """An endpoint for embeddings could not be reached, or failed on its side; trying again can help."""

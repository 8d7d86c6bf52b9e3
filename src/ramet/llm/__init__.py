"""Models for handlers and huge batches of prompts: bounded in time, calls and money, with nothing paid for twice.

``ask`` brings a model's answer into any handler. The command ``ramet llm`` runs jobs: a job is a lineage, a prompt is a
task of it, and a provider's batch is a task that binds and settles many of them.
"""

from typing import TYPE_CHECKING

from ramet.llm.asking.answer import (
    AccountFault,
    Answer,
    AnswerCutOff,
    AnswerError,
    AnswerInvalid,
    AnswerLost,
    AnswerRefused,
    ProviderBusy,
    RequestRefused,
    TooManyRounds,
)
from ramet.llm.asking.ask import ask, ask_sync
from ramet.llm.asking.exchange import NotInstalled
from ramet.llm.asking.later import ask_later, ask_later_sync, declare_models
from ramet.llm.asking.model import Model
from ramet.llm.asking.tools import SpawnNotAllowed, ToolContext, ToolError

if TYPE_CHECKING:
    from ramet.llm.job import Job, SyncJob

__all__ = [
    "AccountFault",
    "Answer",
    "AnswerCutOff",
    "AnswerError",
    "AnswerInvalid",
    "AnswerLost",
    "AnswerRefused",
    "Job",
    "Model",
    "NotInstalled",
    "ProviderBusy",
    "RequestRefused",
    "SpawnNotAllowed",
    "SyncJob",
    "ToolContext",
    "ToolError",
    "TooManyRounds",
    "ask",
    "ask_later",
    "ask_later_sync",
    "ask_sync",
    "declare_models",
]


def __getattr__(name: str) -> object:
    """Return what jobs from Python need, imported at its first use: handlers that ask a model do without.

    Raises:
        AttributeError: there is no such name.
    """
    if name not in ("Job", "SyncJob"):
        raise AttributeError(f"module 'ramet.llm' has no attribute {name!r}")
    from ramet.llm import job

    return getattr(job, name)

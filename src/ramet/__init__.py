"""ramet: a durable task engine for work that spawns work, where every lineage provably ends.

This module is the public API; nothing else is promised.
"""

from ramet.engine.app.app import App
from ramet.engine.app.pipeline import Pipeline
from ramet.engine.base.clock import new_id
from ramet.engine.base.json_text import PayloadTooLarge
from ramet.engine.client.claim import Claim, Ended, Spawn
from ramet.engine.client.client import Client, OwnLineage
from ramet.engine.client.reading import StateCount, TreeNode
from ramet.engine.client.sync_client import SyncClaim, SyncClient
from ramet.engine.client.waiting import TaskFailed, WaitRefused
from ramet.engine.context.batch import BatchContext, SyncBatchContext
from ramet.engine.context.binding import item
from ramet.engine.context.context import Context, SyncContext
from ramet.engine.context.data import Blob, BlobTooLarge
from ramet.engine.context.money import CostRefused, Reservation, SyncReservation
from ramet.engine.context.outcome import Outcome
from ramet.engine.context.ports import ClaimLost, Invocation
from ramet.engine.explain.explain import Explanation
from ramet.engine.explain.key import KeyExplanation
from ramet.engine.kinds.options import PathArguments, TaskOptions
from ramet.engine.kinds.registry import UnknownKind
from ramet.engine.settings.setting import Setting
from ramet.engine.worker.worker import Worker
from ramet.model.alerts.notifications import AlertChannel, AlertNotice
from ramet.model.alerts.rules import Alert
from ramet.model.causes import About, Cause
from ramet.model.flow.resources import KindLimit, Policy, Queue, Resource, Unserved, Usage, WorkerSeen
from ramet.model.keys import InvalidKey, shown_key, text_key, title_key, url_key
from ramet.model.lineage.deny_list import InvalidEntry, StopEntry
from ramet.model.lineage.guard import BlockReason
from ramet.model.lineage.limits import PRESETS, Limits
from ramet.model.lineage.lineage import Lineage, LineageOutcome, LineageState, LineageTotals, OutcomeKind
from ramet.model.money import AMOUNT_MAX, NANO_DOLLARS, Ceiling, Costs, as_usd, dollars
from ramet.model.operations import Act, BulkAct, BulkResult, BulkSelection, TaskFilter
from ramet.model.paths import HeldBack, InvalidPath, PathChain, PathPage, PathTask, path_key
from ramet.model.schedule import Schedule, Slot, slot_of
from ramet.model.task.binding import Binding, BoundTask, ItemAnswer, ItemSettlement, StageCount
from ramet.model.task.retry import ErrorClass, Permanent, Retry, RetryAfter, Transient
from ramet.model.task.task import Attempt, Block, Task, TaskHistory, TaskState
from ramet.model.values import InvalidText
from ramet.model.views import (
    Backlog,
    BlockPage,
    Branch,
    Call,
    Count,
    Delay,
    InHand,
    KindState,
    LineagePage,
    Present,
    RunningTask,
    TaskCalls,
    TaskCheckpoint,
    Twig,
    TwigPage,
)
from ramet.store.answers import Ran, Reoffered, SpawnAnswer, Submitted
from ramet.store.errors import (
    LineageExists,
    Stopped,
    StoreError,
    StoreUncertain,
    StoreUnreachable,
    TransactionRefused,
    UniqueHeld,
)
from ramet.store.loggers import own_logger
from ramet.store.requests import Statement

__version__ = "0.1.0"

__all__ = [
    "AMOUNT_MAX",
    "About",
    "Act",
    "Alert",
    "AlertChannel",
    "AlertNotice",
    "App",
    "Attempt",
    "Backlog",
    "BatchContext",
    "Binding",
    "Blob",
    "BlobTooLarge",
    "Block",
    "BlockPage",
    "BlockReason",
    "BoundTask",
    "Branch",
    "BulkAct",
    "BulkResult",
    "BulkSelection",
    "Call",
    "Cause",
    "Ceiling",
    "Claim",
    "ClaimLost",
    "Client",
    "Context",
    "CostRefused",
    "Costs",
    "Count",
    "Delay",
    "Ended",
    "ErrorClass",
    "Explanation",
    "HeldBack",
    "InHand",
    "InvalidEntry",
    "InvalidKey",
    "InvalidPath",
    "InvalidText",
    "Invocation",
    "ItemAnswer",
    "ItemSettlement",
    "KeyExplanation",
    "KindLimit",
    "KindState",
    "Limits",
    "Lineage",
    "LineageExists",
    "LineageOutcome",
    "LineagePage",
    "LineageState",
    "LineageTotals",
    "NANO_DOLLARS",
    "Outcome",
    "OutcomeKind",
    "OwnLineage",
    "PRESETS",
    "PathArguments",
    "PathChain",
    "PathPage",
    "PathTask",
    "PayloadTooLarge",
    "Permanent",
    "Pipeline",
    "Policy",
    "Present",
    "Queue",
    "Ran",
    "Reoffered",
    "Reservation",
    "Resource",
    "Retry",
    "RetryAfter",
    "RunningTask",
    "Schedule",
    "Setting",
    "Slot",
    "Spawn",
    "SpawnAnswer",
    "StageCount",
    "StateCount",
    "Statement",
    "StopEntry",
    "Stopped",
    "StoreError",
    "StoreUncertain",
    "StoreUnreachable",
    "Submitted",
    "SyncBatchContext",
    "SyncClaim",
    "SyncClient",
    "SyncContext",
    "SyncReservation",
    "Task",
    "TaskCalls",
    "TaskCheckpoint",
    "TaskFailed",
    "TaskFilter",
    "TaskHistory",
    "TaskOptions",
    "TaskState",
    "TransactionRefused",
    "Transient",
    "TreeNode",
    "Twig",
    "TwigPage",
    "UniqueHeld",
    "UnknownKind",
    "Unserved",
    "Usage",
    "WaitRefused",
    "Worker",
    "WorkerSeen",
    "as_usd",
    "dollars",
    "item",
    "new_id",
    "own_logger",
    "path_key",
    "shown_key",
    "slot_of",
    "text_key",
    "title_key",
    "url_key",
]

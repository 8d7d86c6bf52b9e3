"""ramet: a durable task engine for work that spawns work, where every lineage provably ends.

This module is the public API; nothing else is promised.
"""

import importlib
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ramet.engine.app.app import App
    from ramet.engine.app.pipeline import Pipeline
    from ramet.engine.base.clock import new_id
    from ramet.engine.base.events import EventName, TaskEvent
    from ramet.engine.base.json_text import PayloadTooLarge
    from ramet.engine.client.claim import Claim, ClaimResult, Spawn
    from ramet.engine.client.client import Client, OwnLineageRefused
    from ramet.engine.client.handle import SubmitOptions, SyncTaskHandle, TaskHandle
    from ramet.engine.client.reading import StateCount, TreeNode
    from ramet.engine.client.sync_client import SyncClaim, SyncClient
    from ramet.engine.client.waiting import TaskFailed, WaitRefused
    from ramet.engine.context.batch import BatchContext, SyncBatchContext
    from ramet.engine.context.binding import item_settlement
    from ramet.engine.context.blob import Blob
    from ramet.engine.context.context import Context, SyncContext
    from ramet.engine.context.data import BlobTooLarge
    from ramet.engine.context.joined import Joined
    from ramet.engine.context.money import CostRefused, Reservation, SyncReservation
    from ramet.engine.context.outcome import Outcome
    from ramet.engine.context.ports import ClaimLost, InvokeResult
    from ramet.engine.explain.explain import Explanation
    from ramet.engine.explain.key import KeyExplanation
    from ramet.engine.kinds.options import PathArguments, SpawnHandle, TaskArguments, TaskOptions
    from ramet.engine.kinds.registry import UnknownKind
    from ramet.engine.settings.setting import Setting
    from ramet.engine.worker.bounded import RunOptions, RunReport, run_once, sync_run_once
    from ramet.engine.worker.worker import Worker
    from ramet.model.alerts.notifications import AlertChannel, AlertNotice
    from ramet.model.alerts.rules import Alert
    from ramet.model.causes import Cause, CauseSubject
    from ramet.model.flow.resources import (
        ClaimUsage,
        KindLimit,
        Queue,
        Resource,
        ResourcePolicy,
        UnservedKind,
        WorkerStatus,
    )
    from ramet.model.keys import InvalidKey, display_key, text_key, title_key, url_key
    from ramet.model.lineage.branches import Budget
    from ramet.model.lineage.deny_list import InvalidEntry, StopEntry
    from ramet.model.lineage.guard import Allowed, Blocked, BlockReason
    from ramet.model.lineage.limits import PRESETS, Limits
    from ramet.model.lineage.lineage import Lineage, LineageOutcome, LineageState, LineageTotals, OutcomeKind
    from ramet.model.money import AMOUNT_MAX, NANO_DOLLARS, Ceiling, Costs, as_usd, dollars
    from ramet.model.operations import AuditEntry, BulkAction, BulkResult, BulkSelection, TaskFilter
    from ramet.model.paths import InvalidPath, PathChain, PathImpact, PathPage, PathPause, PathTask, path_key
    from ramet.model.schedule import Schedule, ScheduleSlot, schedule_slot
    from ramet.model.task.binding import BindResult, BoundTask, ItemResult, ItemSettlement, StageCount
    from ramet.model.task.joined import JoinedTask, JoinRound
    from ramet.model.task.retry import ErrorClass, Permanent, Retry, RetryAfter, Transient
    from ramet.model.task.task import (
        Attempt,
        AttemptLog,
        Block,
        LogLine,
        ParentBlockCount,
        Task,
        TaskHistory,
        TaskState,
    )
    from ramet.model.timeline import SpanKind, Timeline, TimelineLink, TimelineRow, TimelineSpan
    from ramet.model.values import InvalidText
    from ramet.model.views import (
        ActiveClaims,
        Backlog,
        BlockPage,
        BoundedCount,
        KindStateCount,
        LineagePage,
        LiveCounts,
        ProblemCounts,
        RunningTask,
        TaskCall,
        TaskCalls,
        TaskCheckpoint,
        TreeGroup,
        TreePage,
        TreeTask,
        WaitReason,
    )
    from ramet.store.answers import ReofferResult, SpawnResult, StatementResult, SubmitResult
    from ramet.store.errors import (
        LineageExists,
        QueueBlocked,
        StopListed,
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
    "ActiveClaims",
    "Alert",
    "AlertChannel",
    "AlertNotice",
    "Allowed",
    "App",
    "Attempt",
    "AttemptLog",
    "AuditEntry",
    "Backlog",
    "BatchContext",
    "BindResult",
    "Blob",
    "BlobTooLarge",
    "Block",
    "BlockPage",
    "BlockReason",
    "Blocked",
    "BoundTask",
    "BoundedCount",
    "Budget",
    "BulkAction",
    "BulkResult",
    "BulkSelection",
    "Cause",
    "CauseSubject",
    "Ceiling",
    "Claim",
    "ClaimLost",
    "ClaimResult",
    "ClaimUsage",
    "Client",
    "Context",
    "CostRefused",
    "Costs",
    "ErrorClass",
    "EventName",
    "Explanation",
    "InvalidEntry",
    "InvalidKey",
    "InvalidPath",
    "InvalidText",
    "InvokeResult",
    "ItemResult",
    "ItemSettlement",
    "JoinRound",
    "Joined",
    "JoinedTask",
    "KeyExplanation",
    "KindLimit",
    "KindStateCount",
    "Limits",
    "Lineage",
    "LineageExists",
    "LineageOutcome",
    "LineagePage",
    "LineageState",
    "LineageTotals",
    "LiveCounts",
    "LogLine",
    "NANO_DOLLARS",
    "Outcome",
    "OutcomeKind",
    "OwnLineageRefused",
    "PRESETS",
    "ParentBlockCount",
    "PathArguments",
    "PathChain",
    "PathImpact",
    "PathPage",
    "PathPause",
    "PathTask",
    "PayloadTooLarge",
    "Permanent",
    "Pipeline",
    "ProblemCounts",
    "Queue",
    "QueueBlocked",
    "ReofferResult",
    "Reservation",
    "Resource",
    "ResourcePolicy",
    "Retry",
    "RetryAfter",
    "RunOptions",
    "RunReport",
    "RunningTask",
    "Schedule",
    "ScheduleSlot",
    "Setting",
    "SpanKind",
    "Spawn",
    "SpawnHandle",
    "SpawnResult",
    "StageCount",
    "StateCount",
    "Statement",
    "StatementResult",
    "StopEntry",
    "StopListed",
    "StoreError",
    "StoreUncertain",
    "StoreUnreachable",
    "SubmitOptions",
    "SubmitResult",
    "SyncBatchContext",
    "SyncClaim",
    "SyncClient",
    "SyncContext",
    "SyncReservation",
    "SyncTaskHandle",
    "Task",
    "TaskArguments",
    "TaskCall",
    "TaskCalls",
    "TaskCheckpoint",
    "TaskEvent",
    "TaskFailed",
    "TaskFilter",
    "TaskHandle",
    "TaskHistory",
    "TaskOptions",
    "TaskState",
    "Timeline",
    "TimelineLink",
    "TimelineRow",
    "TimelineSpan",
    "TransactionRefused",
    "Transient",
    "TreeGroup",
    "TreeNode",
    "TreePage",
    "TreeTask",
    "UniqueHeld",
    "UnknownKind",
    "UnservedKind",
    "WaitReason",
    "WaitRefused",
    "Worker",
    "WorkerStatus",
    "as_usd",
    "display_key",
    "dollars",
    "item_settlement",
    "new_id",
    "own_logger",
    "path_key",
    "run_once",
    "schedule_slot",
    "sync_run_once",
    "text_key",
    "title_key",
    "url_key",
]

_MODULES = {
    "engine.app.app": "App",
    "engine.app.pipeline": "Pipeline",
    "engine.base.clock": "new_id",
    "engine.base.events": "EventName TaskEvent",
    "engine.base.json_text": "PayloadTooLarge",
    "engine.client.claim": "Claim ClaimResult Spawn",
    "engine.client.client": "Client OwnLineageRefused",
    "engine.client.handle": "SubmitOptions SyncTaskHandle TaskHandle",
    "engine.client.reading": "StateCount TreeNode",
    "engine.client.sync_client": "SyncClaim SyncClient",
    "engine.client.waiting": "TaskFailed WaitRefused",
    "engine.context.batch": "BatchContext SyncBatchContext",
    "engine.context.binding": "item_settlement",
    "engine.context.blob": "Blob",
    "engine.context.context": "Context SyncContext",
    "engine.context.data": "BlobTooLarge",
    "engine.context.joined": "Joined",
    "engine.context.money": "CostRefused Reservation SyncReservation",
    "engine.context.outcome": "Outcome",
    "engine.context.ports": "ClaimLost InvokeResult",
    "engine.explain.explain": "Explanation",
    "engine.explain.key": "KeyExplanation",
    "engine.kinds.options": "PathArguments SpawnHandle TaskArguments TaskOptions",
    "engine.kinds.registry": "UnknownKind",
    "engine.settings.setting": "Setting",
    "engine.worker.bounded": "RunOptions RunReport run_once sync_run_once",
    "engine.worker.worker": "Worker",
    "model.alerts.notifications": "AlertChannel AlertNotice",
    "model.alerts.rules": "Alert",
    "model.causes": "Cause CauseSubject",
    "model.flow.resources": "ClaimUsage KindLimit Queue Resource ResourcePolicy UnservedKind WorkerStatus",
    "model.keys": "InvalidKey display_key text_key title_key url_key",
    "model.lineage.branches": "Budget",
    "model.lineage.deny_list": "InvalidEntry StopEntry",
    "model.lineage.guard": "Allowed Blocked BlockReason",
    "model.lineage.limits": "PRESETS Limits",
    "model.lineage.lineage": "Lineage LineageOutcome LineageState LineageTotals OutcomeKind",
    "model.money": "AMOUNT_MAX NANO_DOLLARS Ceiling Costs as_usd dollars",
    "model.operations": "AuditEntry BulkAction BulkResult BulkSelection TaskFilter",
    "model.paths": "InvalidPath PathChain PathImpact PathPage PathPause PathTask path_key",
    "model.schedule": "Schedule ScheduleSlot schedule_slot",
    "model.task.binding": "BindResult BoundTask ItemResult ItemSettlement StageCount",
    "model.task.joined": "JoinedTask JoinRound",
    "model.task.retry": "ErrorClass Permanent Retry RetryAfter Transient",
    "model.task.task": "Attempt AttemptLog Block LogLine ParentBlockCount Task TaskHistory TaskState",
    "model.timeline": "SpanKind Timeline TimelineLink TimelineRow TimelineSpan",
    "model.values": "InvalidText",
    "model.views": (
        "ActiveClaims Backlog BlockPage BoundedCount KindStateCount LineagePage LiveCounts ProblemCounts "
        "RunningTask TaskCall TaskCalls TaskCheckpoint TreeGroup TreePage TreeTask WaitReason"
    ),
    "store.answers": "ReofferResult SpawnResult StatementResult SubmitResult",
    "store.errors": (
        "LineageExists QueueBlocked StopListed StoreError StoreUncertain StoreUnreachable TransactionRefused UniqueHeld"
    ),
    "store.loggers": "own_logger",
    "store.requests": "Statement",
}
"""Import each name of ``__all__``, by the module that defines it, when it is first asked for, so that a
command that only looks, or a submitter, does not pay for the worker's half."""
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

_RENAMED = {
    "About": "CauseSubject",
    "Act": "AuditEntry",
    "Binding": "BindResult",
    "Branch": "TreeGroup",
    "BulkAct": "BulkAction",
    "Call": "TaskCall",
    "Count": "BoundedCount",
    "Delay": "WaitReason",
    "Ended": "ClaimResult",
    "HeldBack": "PathImpact",
    "InHand": "ActiveClaims",
    "Invocation": "InvokeResult",
    "ItemAnswer": "ItemResult",
    "KindState": "KindStateCount",
    "OwnLineage": "OwnLineageRefused",
    "Policy": "ResourcePolicy",
    "Present": "LiveCounts",
    "Ran": "StatementResult",
    "Reoffered": "ReofferResult",
    "Slot": "ScheduleSlot",
    "SpawnAnswer": "SpawnResult",
    "Stopped": "StopListed",
    "Submitted": "SubmitResult",
    "Twig": "TreeTask",
    "TwigPage": "TreePage",
    "Unserved": "UnservedKind",
    "Usage": "ClaimUsage",
    "WorkerSeen": "WorkerStatus",
    "item": "item_settlement",
    "shown_key": "display_key",
    "slot_of": "schedule_slot",
}
"""Former names with the present ones. The former keep working for one release."""

if not TYPE_CHECKING:  # a type checker reads the imports above, and reports the old names

    def __getattr__(name: str) -> object:
        """Return a public name, or what formerly had this name, with a warning.

        Raises:
            AttributeError: there is no such name.
        """
        if name in _RENAMED:
            new = _RENAMED[name]
            warnings.warn(f"ramet.{name} is called ramet.{new} now", DeprecationWarning, stacklevel=2)
            return __getattr__(new)
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'ramet' has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(f"ramet.{_MODULE_OF[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

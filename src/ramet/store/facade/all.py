"""Every verb of the Store protocol; a dialect says how they run (:class:`ramet.store.facade.runs.Verbs`)."""

from __future__ import annotations

from ramet.store.facade.binding import BindingVerbs
from ramet.store.facade.core import CoreVerbs
from ramet.store.facade.cost import CostVerbs
from ramet.store.facade.explaining import ExplainingVerbs
from ramet.store.facade.flow import FlowVerbs
from ramet.store.facade.imports import ImportVerbs
from ramet.store.facade.monitor import MonitorVerbs
from ramet.store.facade.operations import OperationsVerbs
from ramet.store.facade.paths import PathVerbs
from ramet.store.facade.persons import PersonsVerbs
from ramet.store.facade.schedules import ScheduleVerbs
from ramet.store.facade.tallies import TallyVerbs
from ramet.store.facade.views import ViewVerbs
from ramet.store.facade.waiting import WaitingVerbs


class AllVerbs(
    CoreVerbs,
    FlowVerbs,
    PersonsVerbs,
    BindingVerbs,
    CostVerbs,
    ScheduleVerbs,
    MonitorVerbs,
    OperationsVerbs,
    ImportVerbs,
    WaitingVerbs,
    ExplainingVerbs,
    PathVerbs,
    TallyVerbs,
    ViewVerbs,
):
    """See :class:`ramet.store.base.Store` for what each method promises."""

"""Every verb of the Store protocol; a dialect says how they run (:class:`ramet.store.verbs.Verbs`)."""

from __future__ import annotations

from ramet.store.verbs_binding import BindingVerbs
from ramet.store.verbs_core import CoreVerbs
from ramet.store.verbs_cost import CostVerbs
from ramet.store.verbs_explaining import ExplainingVerbs
from ramet.store.verbs_flow import FlowVerbs
from ramet.store.verbs_import import ImportVerbs
from ramet.store.verbs_monitor import MonitorVerbs
from ramet.store.verbs_operations import OperationsVerbs
from ramet.store.verbs_paths import PathVerbs
from ramet.store.verbs_persons import PersonsVerbs
from ramet.store.verbs_schedules import ScheduleVerbs
from ramet.store.verbs_tallies import TallyVerbs
from ramet.store.verbs_views import ViewVerbs
from ramet.store.verbs_waiting import WaitingVerbs


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

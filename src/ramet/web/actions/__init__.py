"""Every action of the dashboard, by subject. No rule of the engine stands here: each calls the client."""

from ramet.web.actions import administration, flow, lineages, tasks
from ramet.web.actions.action import Action

ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        *tasks.ACTIONS,
        *lineages.ACTIONS,
        *flow.ACTIONS,
        *administration.ACTIONS,
        *administration.ALERT_ACTIONS,
    )
}
"""By name."""

"""Every action of the dashboard, by subject. It holds no rule of the engine: each action calls the client."""

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
"""Name of an action -> the action."""

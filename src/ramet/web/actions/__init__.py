"""Every action of the dashboard, by subject. No rule of the engine stands here: each calls the client."""

from ramet.web.acting import Action
from ramet.web.actions import alerts, flow, kept, lineages, tasks

ACTIONS: dict[str, Action] = {
    action.name: action for action in (*tasks.ACTIONS, *lineages.ACTIONS, *flow.ACTIONS, *kept.ACTIONS, *alerts.ACTIONS)
}
"""By name."""

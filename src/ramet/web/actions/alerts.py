"""What people do about alerts: take notice."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ramet import Alert, Client
from ramet.web.actions.action import Action, Done, Fields, Person, done, found, require

NUMBER_MAX = 2**53


class OneAlert(Fields):
    """Which alert."""

    alert_id: Annotated[int, Field(ge=0, le=NUMBER_MAX, title="Alert")]


async def _alert(client: Client, number: int) -> Alert:
    return found(await client.alert(number), f"no alert {number}: it was pruned, or never was")


def _otherwise(alert: Alert) -> str:
    if alert.state != "firing":
        return f"alert {alert.id} is {alert.state} already"
    return f"alert {alert.id} was acknowledged already, by {alert.acknowledged_by}"


async def _ask_acknowledge(client: Client, fields: OneAlert) -> str:
    alert = await _alert(client, fields.alert_id)
    require(alert.state == "firing" and alert.acknowledged_at is None, _otherwise(alert))
    return f"Takes notice of alert {alert.id}: {alert.subject}. It is told no more while it fires."


async def _acknowledge(client: Client, fields: OneAlert, person: Person) -> Done:
    alert = await _alert(client, fields.alert_id)
    noticed = await client.acknowledge_alert(alert.id, by=person.by, reason=person.reason)
    return done(noticed, f"acknowledged alert {alert.id}", _otherwise(alert), alert_id=alert.id)


ACTIONS = (
    Action("acknowledge", "Acknowledge alert", "Take notice of a firing alert; it is told no more while it fires.",
           OneAlert, _ask_acknowledge, _acknowledge),
)  # fmt: skip

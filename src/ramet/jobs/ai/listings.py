"""A model explains a score, and adds or takes a few points."""

from __future__ import annotations

import json
from typing import Any

from ramet import Context
from ramet.jobs.ai.model import Unanswered, ask
from ramet.jobs.ai.prompts import MATCH, MatchReply
from ramet.jobs.jobs_settings import JobsSettings
from ramet.jobs.matching.score import Score
from ramet.jobs.posting import Posting
from ramet.jobs.text.posting_text import Reading

INTAKE = ("professionalSummary", "experienceHighlights", "projectsToInclude", "achievementAngles")


async def analysed(
    ctx: Context, posting: Posting, reading: Reading, score: Score, settings: JobsSettings
) -> dict[str, Any] | None:
    """``{points, adjustments, explanation, intake, method, note}``; None without a model, or where it is not worth it.

    Its points are within ``jobs.model.adjust_max`` whatever it says, and listed like those of the rules.
    """
    model = settings.model
    if not model.judges or not settings.profile.given or score.final < score.threshold - model.reach:
        return None
    try:
        told = await ask(
            ctx, MATCH, MatchReply, model=model.expensive, data=_data(posting, score, settings), settings=model
        )
    except Unanswered as why:
        return {"points": 0.0, "adjustments": [], "method": "rules", "note": f"model: {why}"[:300]}
    points = max(-model.adjust_max, min(model.adjust_max, told.adjustment))
    # The points are one number; they stand with the first reason.
    adjustments = [
        {"category": "model", "reason": reason, "points": points if at == 0 else 0.0}
        for at, reason in enumerate(told.reasons)
    ]
    intake = {name: value for name in INTAKE if (value := getattr(told, name))}
    return {
        "points": points,
        "adjustments": adjustments,
        "explanation": told.explanation,
        "intake": intake,
        "method": f"model:{model.expensive}",
    }


def _data(posting: Posting, score: Score, settings: JobsSettings) -> str:
    profile = settings.profile.model_dump(exclude_defaults=True, exclude={"name"})
    points = [f"{item['points']:+g} {item['reason']}" for item in score.adjustments]
    return "\n".join(
        (
            f"Profile: {json.dumps(profile, ensure_ascii=False)}",
            f"Score by rules: {score.final:g}, threshold {score.threshold:g}, bound of the adjustment "
            f"{settings.model.adjust_max:g}",
            *points,
            f"Posting: {posting.title} at {posting.company or 'unknown'}, {posting.location or 'place unknown'}",
            posting.description,
        )
    )

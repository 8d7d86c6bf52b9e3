"""Changes that no test can notice, because what the code does stays the same."""

from __future__ import annotations

import re

_CASELESS = re.compile(r"""\b(?:encode|decode|float|Decimal)\("[\w-]+\"""")
_FALSE = re.compile(r"\b(ensure_ascii|allow_nan|std3_rules)=None\b")


def same_meaning(old: str, new: str) -> bool:
    """Return whether two lines differ only in the case of an encoding or a special number, or in None for False."""
    return _plain(old) == _plain(new)


def _plain(line: str) -> str:
    return _FALSE.sub(r"\1=False", _CASELESS.sub(lambda call: call[0].lower(), line))


EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "paths.path_text",
        'return json.dumps(elements, ensure_ascii=False, separators=(",", ":")) if elements else None',
        'return json.dumps(elements, ensure_ascii=False, separators=(",", "XX:XX")) if elements else None',
    ): "A path is a list: no name and value stand in it.",
    (
        "rules.judge_key",
        "counted = [one for one in demands if thresholds.get(one.kind, 0) is not None]",
        "counted = [one for one in demands if thresholds.get(one.kind, 1) is not None]",
    ): "It is asked only whether it is None.",
    (
        "urls._path",
        'name = _without_parameters(segment, keep) if ";" in segment else segment',
        'name = _without_parameters(segment, keep) if (";" in segment) or True else segment',
    ): "A segment without parameters comes back as it is.",
    (
        "tracing.task_span_id",
        'return int.from_bytes(_digest(task_id)[:8], "big") or 1',
        "return int.from_bytes(_digest(task_id)[:8], ) or 1",
    ): "Big is what from_bytes takes by itself, since Python 3.11.",
    (
        "resources.Rate._since_cut",
        "if self.cut >= self.full:",
        "if self.cut > self.full:",
    ): "Where they are equal nothing grows: what follows gives the same sum.",
    (
        "resources.Rate._since_cut",
        "if seconds <= 0:",
        "if seconds < 0:",
    ): "In no time nothing is gained, by either formula.",
    (
        "resources.Rate.seconds_for",
        "if wanted <= 0:",
        "if wanted < 0:",
    ): "Nothing is gained at the moment of the cut, by either formula.",
    (
        "resources.Rate.seconds_for",
        "if wanted >= grown:",
        "if wanted > grown:",
    ): "Both formulas meet at the moment at which the rate is whole again.",
    (
        "notifications.backoff_seconds",
        "return min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS * 2.0 ** min(attempts - 1, 20))",
        "return min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS * 2.0 ** min(attempts - 1, 21))",
    ): "The longest delay is reached long before; the bound keeps the power finite.",
    (
        "resources.policy_of",
        "length = -1",
        "length = -2",
    ): "Every pattern is longer than either.",
    (
        "resources.policy_of",
        'if policy.pattern.endswith("*") and name.startswith(policy.pattern[:-1]) and len(policy.pattern) > length:',
        'if policy.pattern.endswith("*") and name.startswith(policy.pattern[:-1]) and len(policy.pattern) >= length:',
    ): "Two patterns of one length that fit the same name are the same pattern, and a pattern has one policy.",
    (
        "schedule.Timing._interval",
        "number = int(moment // every)",
        "number = int(moment / every)",
    ): "It is where the search begins, at or before the first slot; both are.",
    (
        "task._with_rule",
        "return new if new.path is None else new._replace(path=PathRule.restored(new.path))",
        "return new if (new.path is None) and False else new._replace(path=PathRule.restored(new.path))",
    ): "None is restored as None; the condition only spares a copy.",
    (
        "schedule.Timing.latest",
        "back = 3_600.0",
        "back = 3601.0",
    ): "It is where the search begins; it goes further back until it has found enough.",
    (
        "schedule.Timing.latest",
        "if len(found) >= count or start < first:",
        "if len(found) > count or start < first:",
    ): "To look once more further back finds the same last ones.",
    (
        "schedule.Timing.latest",
        "back *= 4",
        "back *= 5",
    ): "It goes further back until it has found enough, in whatever steps.",
    (
        "money.day_of",
        "return int(now // DAY_SECONDS)",
        "return int(now / DAY_SECONDS)",
    ): "No moment is before 1970, and what is cut off then is the same.",
    (
        "lineage.retry_slot",
        "minute = int(now // RETRY_MINUTE_SECONDS)",
        "minute = int(now / RETRY_MINUTE_SECONDS)",
    ): "No moment is before 1970, and what is cut off then is the same.",
    (
        "money.as_usd",
        "return f\"{sign}${whole // NANO_DOLLARS:,}.{cents[:2]}{cents[2:].rstrip('0')}\"",
        "return f\"{sign}${whole // NANO_DOLLARS:,}.{cents[:2]}{cents[2:].rstrip('XX0XX')}\"",
    ): "There are only digits to strip from.",
    (
        "importing._moment",
        "seconds = float(value) if abs(value) < 1e300 else math.inf",
        "seconds = float(value) if abs(value) <= 1e300 else math.inf",
    ): "So large a number is no moment, by either way.",
    (
        "importing._moment",
        "seconds = float(value) if abs(value) < 1e300 else math.inf",
        "seconds = float(value) if abs(value) < 1e+300 else math.inf",
    ): "The same number, written in another way.",
    (
        "lifecycle._again",
        "return _ended(row, task, FAILED, fields, **details)",
        "return _ended(row, task, None, fields, **details)",
    ): "A task that is ending becomes what it was ending as, whatever is said here.",
    (
        "lifecycle._task_deadline",
        'return _ended(row, task, FAILED, outcome=_awaits_outcome(task), reason=reason, by="engine")',
        'return _ended(row, task, None, outcome=_awaits_outcome(task), reason=reason, by="engine")',
    ): "A task that is ending becomes what it was ending as, whatever is said here.",
    (
        "lifecycle._lease_expired",
        "return _again(row, task, now, now, fields, known=False, **details)",
        "return _again(row, task, now, now, fields, known=None, **details)",
    ): "It is asked only whether it is true.",
    (
        "deny_list._pattern",
        'if re.search(r"[\\x00\\ud800-\\udfff]", value):',
        'if re.search(r"[\\x00\\uD800-\\uDFFF]", value):',
    ): "The same characters, written in another way.",
    (
        "tracing.trace_id",
        'return int.from_bytes(_digest(tracking_id)[:16], "big") or 1',
        "return int.from_bytes(_digest(tracking_id)[:16], ) or 1",
    ): "Big is what from_bytes takes by itself, since Python 3.11.",
    (
        "tracing.attempt_span_id",
        'return int.from_bytes(_digest(f"{task_id}\\0{fence}")[:8], "big") or 1',
        'return int.from_bytes(_digest(f"{task_id}\\0{fence}")[:8], ) or 1',
    ): "Big is what from_bytes takes by itself, since Python 3.11.",
    (
        "values.check_text",
        "if bytes_max is not None and len(text) * 4 > bytes_max and len(text.encode()) > bytes_max:",
        "if bytes_max is not None and len(text) * 5 > bytes_max and len(text.encode()) > bytes_max:",
    ): "It only spares counting the bytes of short texts; they are counted after it.",
    (
        "values.check_text",
        "if bytes_max is not None and len(text) * 4 > bytes_max and len(text.encode()) > bytes_max:",
        "if bytes_max is not None and len(text) * 4 >= bytes_max and len(text.encode()) > bytes_max:",
    ): "It only spares counting the bytes of short texts; they are counted after it.",
    (
        "values.storable",
        'return cut if is_storable(cut) else _UNSTORABLE.sub("?", cut)',
        'return cut if (is_storable(cut)) and False else _UNSTORABLE.sub("?", cut)',
    ): "In a text that can be stored there is nothing to replace; the condition only spares a copy.",
}
"""(Function, line as it is, line as changed) -> why nobody can tell them apart. An entry that fits no change fails."""

"""One line about a rebuild, and one about a purge."""

from __future__ import annotations

from typing import Any

from daicho.rebuild.job import RebuildJob
from daicho.rebuild.purge_job import PurgeJob
from daicho_cli.plan.report import MINUTE_S, format_duration


def describe_job(job: RebuildJob) -> str:
    """How far a rebuild is, in one line, and what it leaves."""
    entities = ", ".join(f"{entity} {generation}" for entity, generation in job.targets.items())
    touched = f"{int(job.counts.get('touched', 0)):,} items touched"
    if rows := int(job.counts.get("archived_rows", 0)):
        touched += f", {rows:,} archived rows added"
    reason = f" · {job.reason}" if job.reason else ""
    if job.state == "succeeded":
        left = f", {len(job.left)} left out" if job.left else ""
        return f"{entities}: complete · {touched}{left}{reason}"
    phases = {"prove": "proof", "fill": "archive"}
    phase = phases.get(job.phase, f"pass {job.passes} of at least 2")
    percent = f" · {job.percent} %" if job.phase == "touch" and job.share else ""
    speed = f"{_describe_speed(job)}{_describe_time_left(job)}"
    until = "" if job.phase == "fill" else "for the last older writers "
    waits = f" · waits {until}until {job.waits[11:19]}" if job.waits else ""
    lines = [f"{entities}: {job.state} · {phase}{percent} · {touched}{speed}{waits}{reason}"]
    lines += [f"  {item}: {obstacle}" for item, obstacle in job.left.items()]
    return "\n".join(lines)


def describe_purge(job: PurgeJob) -> str:
    """How far a purge is, in one line."""
    names = [f"{entity}.{each}" for entity, some in job.instances.items() for each in some]
    purge, deleted = f"purge of {', '.join(names)}", int(job.counts.get("deleted", 0))
    if job.state == "succeeded":
        return f"{purge}: complete · {deleted:,} items deleted"
    percent = f" · {job.percent} %" if job.total and job.began else ""
    waits = f" · waits until {job.waits[11:19]}" if job.waits else ""
    reason = f" · {job.reason}" if job.reason else ""
    return (
        f"{purge}: {job.state} · pass {job.passes} of at least 2{percent} · {deleted:,} items "
        f"deleted{waits}{reason}"
    )


def build_document(job: RebuildJob | None, purge: PurgeJob | None) -> dict[str, Any]:
    """The last rebuild as plain JSON values, and the last purge as one of them."""
    return {**(vars(job) if job else {}), **({"purge": vars(purge)} if purge else {})}


def _describe_speed(job: RebuildJob) -> str:
    """The measured write units a second, and the rate if DynamoDB does not accept it."""
    if job.phase != "touch" or not job.units_per_second:
        return ""
    lowered = f" (throttled: {job.effective_rate:,.0f} of {job.rate:,.0f})"
    return f" · {job.units_per_second:,.0f} units/s{lowered if job.is_throttled else ''}"


def _describe_time_left(job: RebuildJob) -> str:
    """The time until the end of the pass. The first pass is never the last one."""
    if (seconds := job.seconds_left) is None or job.waits:
        return ""
    text = f"{seconds} s" if seconds < 2 * MINUTE_S else format_duration(seconds)
    return f" · {text} left" + (" in this pass" if job.passes == 1 else "")

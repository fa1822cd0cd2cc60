"""One line about a rebuild."""

from __future__ import annotations

from daicho.rebuild.job import RebuildJob


def describe_job(job: RebuildJob) -> str:
    """How far a rebuild is, in one line, and what it leaves."""
    entities = ", ".join(f"{entity} {generation}" for entity, generation in job.targets.items())
    touched = f"{int(job.counts.get('touched', 0)):,} items touched"
    if job.state == "succeeded":
        left = f", {len(job.left)} left out" if job.left else ""
        return f"{entities}: complete · {touched}{left}"
    phase = "proof" if job.phase == "prove" else f"pass {job.passes} of at least 2"
    percent = f" · {job.percent} %" if job.phase == "touch" and job.total else ""
    waits = f" · waits for the last older writers until {job.waits[11:19]}" if job.waits else ""
    reason = f" · {job.reason}" if job.reason else ""
    lines = [f"{entities}: {job.state} · {phase}{percent} · {touched}{waits}{reason}"]
    lines += [f"  {item}: {obstacle}" for item, obstacle in job.left.items()]
    return "\n".join(lines)

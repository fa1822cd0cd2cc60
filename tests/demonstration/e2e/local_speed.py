"""``make local-speed``: the speed of the local AWS beside thresholds; exit code 1 on a miss."""

from __future__ import annotations

import datetime as dt
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx

from daicho_cli.local import lifecycle, ttl_process
from daicho_cli.local.environment import use_local_aws
from daicho_cli.local.instance import LocalInstance
from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import client
from tests.support.dynoxide import free_port
from tests.support.repository import PROGRAMS, PROJECT, ROOT

FEW, MORE, MANY = 2_100, 12_100, 20_000
TENANT, CLIENTS, CALLS, WRITES, EXPIRING, DAYS = "acme", 4, 100, 1_500, 13, 8
FIRST_WRITES = 10
"""How many writes of each client are not measured: they start processes of the API function."""
SEARCH = "/contacts?q=speed&limit=100"
say = partial(print, flush=True)


def time_calls(api: httpx.Client, path: str, goes_on: Callable[[int], bool]) -> list[float]:
    """The durations of GETs in milliseconds, while a function of their number says so."""
    durations: list[float] = []
    while goes_on(len(durations)):
        began = time.perf_counter()
        api.get(path).raise_for_status()
        durations.append((time.perf_counter() - began) * 1000)
    return durations


def measure_ms(api: httpx.Client, path: str) -> float:
    """The median of a GET in milliseconds."""
    return statistics.median(time_calls(api, path, lambda done: done < CALLS))


def measure_writes(instance: LocalInstance) -> float:
    """Writes a second of some clients."""

    def write(writes: int) -> None:
        with client(instance.stack(), TENANT) as api:
            for number in range(writes):
                api.post("/messages", json={"text": f"message {number}"}).raise_for_status()

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(write, [FIRST_WRITES] * CLIENTS))
        return WRITES / measure_s(lambda: list(pool.map(write, [WRITES // CLIENTS] * CLIENTS)))


def measure_load(instance: LocalInstance, first: int, last: int) -> float:
    """Contacts a second that ``daicho load`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "contacts.ndjson")
        rows = (
            {"name": f"Speed {n} Tanaka", "company": f"Firm {n % 99}"} for n in range(first, last)
        )
        file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        command = ("load", "Contact", str(file), "--tenant", TENANT)
        place = ("--stack", str(instance.stack_file))
        whole = [sys.executable, "-m", "daicho_cli", *command, *place]
        seconds = measure_s(lambda: subprocess.run(whole, cwd=ROOT, check=True))
    return (last - first) / seconds


def measure_busy(instance: LocalInstance, api: httpx.Client) -> float:
    """The 95th percentile of a search in milliseconds while contacts are loaded and derived."""
    with ThreadPoolExecutor(1) as pool:
        load = pool.submit(measure_load, instance, MORE, MANY)
        durations = time_calls(api, SEARCH, lambda _done: not load.done())
        load.result()
        derivation = pool.submit(delivered, api)
        durations += time_calls(api, SEARCH, lambda _done: not derivation.done())
        derivation.result()
    return statistics.quantiles(durations, n=20)[-1]


def measure_year(api: httpx.Client) -> float:
    """The median of a GET of a year by day, with a sale on each day, in milliseconds."""
    api.put("/artists/fast", json={"name": "Fast"}).raise_for_status()
    song = {"title": "Fast", "artist": "fast", "released": 2000}
    api.put("/songs/fast", json=song).raise_for_status()
    api.put("/products/fast", json={"genre": "Rock", "price": "0.99"}).raise_for_status()
    for day in range(365):
        at = dt.datetime(2025, 1, 1, 12, tzinfo=dt.UTC) + dt.timedelta(day)
        sale = {"song": "fast", "at": at.isoformat()}
        api.post("/sales", json=sale).raise_for_status()
    delivered(api)
    return measure_ms(api, "/daily-revenue?from=2025-01-01&to=2026-01-01&step=day")


def measure_s(work: Callable[[], object]) -> float:
    """Its duration in seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure_all(instance: LocalInstance) -> Iterator[tuple[str, float, float]]:
    """Each figure: its name, its value, its threshold; a rate is negative."""
    with client(instance.stack(), TENANT) as api:
        yield "POST of a message, 4 clients, 1/s", -measure_writes(instance), -150
        yield "load of 2,100 contacts, 1/s", -measure_load(instance, 0, FEW), -150
        delivered(api)
        id = api.get(SEARCH).json()["items"][0]["id"]
        yield "GET of a contact, median ms", measure_ms(api, f"/contacts/{id}"), 5
        yield "search page of 100 among 2,100, median ms", measure_ms(api, SEARCH), 40
        yield "a year by day with sum and mean, median ms", measure_year(api), 200
        yield "load of 10,000 contacts, 1/s", -measure_load(instance, FEW, MORE), -150
        yield "until the last of them is derived, s", measure_s(lambda: delivered(api)), 20
        yield "search page during a load, 95th percentile, ms", measure_busy(instance, api), 200
        yield "search page of 100 among 20,000, median ms", measure_ms(api, SEARCH), 80
        list(ttl_process.simulate_days(instance, DAYS))  # the messages of the writes expire
        for number in range(EXPIRING):
            api.post("/messages", json={"text": f"old {number}"}).raise_for_status()
        expire = partial(ttl_process.simulate_days, instance, DAYS)
        yield "make expire of 13 items, s", measure_s(lambda: list(expire())), 3


def main() -> int:
    """Start a local AWS of its own, and remove it at the end."""
    use_local_aws()
    folder = Path(os.environ.get("DAICHO_LOCAL", PROGRAMS / "speed"))
    instance = LocalInstance(folder, free_port(), PROJECT)
    missed = 0
    try:
        lifecycle.up(instance, say, with_sample=False)
        for name, value, threshold in measure_all(instance):
            missed += value > threshold
            bound = "at most" if threshold > 0 else "at least"
            say(f"{name}: {abs(value):.1f} ({bound} {abs(threshold)})")
    finally:
        lifecycle.reset(instance, say)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

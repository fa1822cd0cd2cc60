"""``make soak``: local processes are killed under load, and nothing acknowledged is lost.

Clients write over HTTP and through AWS's interfaces until each write is acknowledged; messages
expire meanwhile. At random moments random processes get SIGKILL: the local AWS, functions, TTL's
player, a simulation of days, and now and then the local AWS once more while it comes up. Each time
``up`` follows. Meanwhile the projector fails at times, a tenant is deleted, and a declaration
changes. At the end each figure is counted from the items.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import httpx
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from daicho.storage import keys
from daicho.tenants.tombstones import DeletionAction, choose_action
from daicho_cli.local import lifecycle
from daicho_cli.local.environment import REGION, use_local_aws
from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.server import find_program
from daicho_cli.local.users import ADMIN, make_token
from tests.demonstration.e2e.delivery import delivered, roll_up
from tests.e2e.api import TIMEOUT, client, eventually, everything
from tests.e2e.verified import Verified
from tests.support.changing_project import ChangingProject
from tests.support.derived_state import items_of
from tests.support.dynoxide import free_port
from tests.support.repository import PROGRAMS, ROOT

MAX_SECONDS_OF_UP, MAX_SECONDS_OF_A_DEPLOYMENT = 30.0, 120.0
MAX_MEDIAN_MS, MAX_P99_MS = 250.0, 5_000.0
SECONDS_BEFORE_A_KILL = (0.5, 4.0)
SHARE_OF_KILLS_WHILE_IT_COMES_UP = 0.2
SHARE_OF_FAULTS = "0.1"
SERVER = "local AWS"
DAYS = 8
"""Messages live for seven."""
TENANT, DELETED_TENANT = "acme", "initech"
MONTH = "2001-02"
CLIENT = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30)
SECONDS_OF_A_BAR = 2
DOMAINS = ROOT / "functions/domains"
LINE = "    named = Listing(folded(name))\n"
CHANGE = (LINE, f"{LINE}    names = Aggregate(Count(), name, ranked=True)\n")
IMPORTED = "from daicho import (\n    Aggregate,\n    Count,"
MOUNT = '\ndomain.mount("/artist-names", Artist.names.top)\n'
say = partial(print, flush=True)


class Load:
    """Clients that write until they are stopped, and what was acknowledged to them.

    Attributes:
        acknowledged: the numbers of the writes that were answered, by their kind.
        answers: when each write was answered, and after how many seconds.
    """

    def __init__(self, instance: LocalInstance) -> None:
        self.stack = instance.stack()
        self.acknowledged: dict[str, dict[int, str]] = {}
        self.answers: list[tuple[float, float]] = []
        self.failures = 0
        self._stop = threading.Event()
        self._api = httpx.Client(
            base_url=self.stack["url"],
            headers={"authorization": f"Bearer {self.stack['tokens'][TENANT]}"},
            timeout=TIMEOUT,
        )
        session = boto3.Session("test", "test", region_name=REGION)
        endpoint = instance.endpoint
        self.s3 = session.client("s3", endpoint_url=endpoint, config=CLIENT)
        self.cognito = session.client("cognito-idp", endpoint_url=endpoint, config=CLIENT)
        self.dynamodb = session.client("dynamodb", endpoint_url=endpoint, config=CLIENT)
        made = self._api.post("/polls", json={"candidates": ["ann", "bob"]})
        self.poll = f"/polls/{made.raise_for_status().json()['id']}"
        self._api.put("/artists/kept", json={"name": "Soak"}).raise_for_status()
        for song in "012":
            body = {"title": song, "artist": "kept", "released": 2000}
            self._api.put(f"/songs/s{song}", json=body).raise_for_status()
        kinds = (self._put_artist, self._vote, self._send_message, self._download)
        self._threads = [
            threading.Thread(target=self._write, args=(kind,))
            for kind in (*kinds, self._put_object, self._create_user, self._add_once)
        ]

    def start(self) -> None:
        """Begin to write."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let every write that has begun end."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def has_acknowledged_all(self) -> bool:
        """Whether a write of each kind was acknowledged."""
        made = self.acknowledged
        return len(made) == len(self._threads) and all(made.values())

    def close(self) -> None:
        """Close all connections."""
        for each in (self._api, self.s3, self.cognito, self.dynamodb):
            each.close()

    def is_answered(self) -> bool:
        """Whether a read over HTTP is answered."""
        try:
            return self._api.get(self.poll).is_success
        except httpx.HTTPError:
            return False

    def _write(self, write: Callable[[int], str]) -> None:
        made = self.acknowledged.setdefault(write.__name__, {})
        number = 1
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                made[number] = write(number)
            except (httpx.HTTPError, ClientError, BotoCoreError):
                self.failures += 1
                time.sleep(0.2)  # it may exist or not: the same write again
            else:
                ended = time.monotonic()
                self.answers.append((ended, ended - began))
                number += 1
                time.sleep(0.05)

    def _put(self, path: str, body: Any) -> str:
        self._api.put(path, json=body).raise_for_status()
        return path

    def _post(self, path: str, body: Any, number: int) -> str:
        key = {"idempotency-key": f"{path}#{number}".replace("/", ".")}
        answer = self._api.post(path, json=body, headers=key).raise_for_status()
        return str(answer.json()["id"])

    def _put_artist(self, number: int) -> str:
        return self._put(f"/artists/soak-{number}", {"name": f"Soak {number % 5}"})

    def _vote(self, number: int) -> str:
        candidate = "ann" if number % 3 else "bob"
        return self._put(f"{self.poll}/votes/v{number}", {"candidate": candidate})

    def _send_message(self, number: int) -> str:
        return self._post("/messages", {"text": f"soak {number}"}, number)

    def _download(self, number: int) -> str:
        at = {"at": f"{MONTH}-05T06:07:08Z"}
        return self._post(f"/songs/s{number % 3}/downloads", at, number)

    def _put_object(self, number: int) -> str:
        key, body = f"soak/{number}", f"{number}" * 1000
        answer = self.s3.put_object(Bucket=self.stack["failures"], Key=key, Body=body)
        return f"{key} {answer['ETag']}"

    def _create_user(self, number: int) -> str:
        name, pool = f"soak-{number}", self.stack["user_pool"]
        with contextlib.suppress(self.cognito.exceptions.UsernameExistsException):
            self.cognito.admin_create_user(UserPoolId=pool, Username=name)
        time.sleep(1)  # the local AWS saves all users with each
        return name

    def _add_once(self, number: int) -> str:
        """Add 1 to two items, again with the same token until it is acknowledged."""
        keys = [{"PK": {"S": f"soak#{number}"}, "SK": {"S": side}} for side in ("a", "b")]
        actions: Any = [
            {
                "Update": {
                    "TableName": self.stack["table"],
                    "Key": key,
                    "UpdateExpression": "ADD n :one",
                    "ExpressionAttributeValues": {":one": {"N": "1"}},
                }
            }
            for key in keys
        ]
        self.dynamodb.transact_write_items(
            TransactItems=actions, ClientRequestToken=f"soak-{number}"
        )
        return keys[0]["PK"]["S"]


class Soak:
    """A local AWS with a copy of the demonstration, and what happens to it."""

    def __init__(self, changing: ChangingProject, instance: LocalInstance, seed: int) -> None:
        self.changing, self.instance = changing, instance
        self.chance, self.load = random.Random(seed), Load(instance)
        self.kills: list[float] = []
        self.restarts = 0
        self.slowest, self.slowest_deployment = 0.0, 0.0
        self._log = (instance.logs / "soak.log").open("ab")
        self._options: tuple[str, ...] = ()
        self._job = ""
        # Each at its part of the time.
        self._events = [
            (0.1, self._let_the_projector_fail),
            (0.3, self._delete_tenant),
            (0.5, self._change_declaration),
            (0.7, self._let_the_projector_work),
        ]

    def run(self, minutes: float, kills: int) -> None:
        """Kill and bring up again until the time is over and the local AWS was killed so often.

        Raises:
            CalledProcessError: it does not come up.
        """
        began = time.monotonic()
        self.load.start()
        try:
            while self._events or time.monotonic() < began + minutes * 60 or self.restarts < kills:
                self._kill_once()
                if self._events and time.monotonic() > began + self._events[0][0] * minutes * 60:
                    self._events.pop(0)[1]()
        finally:
            self.load.stop()

    def close(self) -> None:
        """Close all connections, and the log."""
        self.load.close()
        self._log.close()

    def _kill_once(self) -> None:
        expiry = start_command(self.instance, self._log, "expire", "--days", str(DAYS))
        time.sleep(self.chance.uniform(*SECONDS_BEFORE_A_KILL))
        self.kills.append(time.monotonic())
        killed = kill_some(self.instance, expiry.pid, self.chance)
        self.restarts += SERVER in killed
        if self.chance.random() < SHARE_OF_KILLS_WHILE_IT_COMES_UP:
            up = self._start_up()
            time.sleep(self.chance.uniform(0.5, 8))
            killed += f"; during up: {kill_some(self.instance, expiry.pid, self.chance)}"
            up.kill()
            up.wait()
        say(f"{len(self.kills)}. {killed}: {self._come_up()}")
        expiry.kill()
        expiry.wait()

    def _start_up(self) -> subprocess.Popen[bytes]:
        return start_command(self.instance, self._log, "up", "--no-sample", *self._options)

    def _come_up(self) -> str:
        log = self.instance.logs / "cdk-deploy.log"
        deployed_at = log.stat().st_mtime_ns
        began, answered = time.monotonic(), 0.0
        up = self._start_up()
        while up.poll() is None:
            if not answered and self.load.is_answered():
                answered = time.monotonic() - began
            time.sleep(0.1)
        if up.returncode:
            raise subprocess.CalledProcessError(up.returncode, "up")
        seconds = time.monotonic() - began
        if log.stat().st_mtime_ns != deployed_at:
            self.slowest_deployment = max(self.slowest_deployment, seconds)
            return f"it answers in {answered or seconds:.1f} s, deployed in {seconds:.1f} s"
        self.slowest = max(self.slowest, seconds)
        return f"it answers in {answered or seconds:.1f} s, up in {seconds:.1f} s"

    def _let_the_projector_fail(self) -> None:
        self._options = ("--faults", SHARE_OF_FAULTS)
        say(f"the projector fails: {self._come_up()}")

    def _let_the_projector_work(self) -> None:
        self._options = ()
        say(f"the projector works: {self._come_up()}")

    def _change_declaration(self) -> None:
        file = self.changing.folder / "domains/music.py"
        text = file.read_text("utf-8")
        assert text.count(CHANGE[0]) == 1
        text = text.replace(*CHANGE).replace("from daicho import (", IMPORTED)
        self.changing.write_domains({"music.py": text + MOUNT})
        self.changing.run("generation", "--accept")
        say(f"a declaration changes: {self._come_up()}")

    def _delete_tenant(self) -> None:
        with self._open_client_of_deleted() as api:
            for number in range(20):
                api.post("/contacts", json={"name": f"Mika {number}"}).raise_for_status()
                api.post("/messages", json={"text": f"of {number}"}).raise_for_status()
            answer = api.delete("/tenant").raise_for_status()
        self._job = answer.headers["location"]
        say("a tenant is deleted")

    def _open_client_of_deleted(self) -> httpx.Client:
        stack = self.load.stack
        pool = (self.load.cognito, stack["user_pool"], stack["client_id"])
        headers = {"authorization": f"Bearer {make_token(*pool, DELETED_TENANT, ADMIN)}"}
        return httpx.Client(base_url=stack["url"], headers=headers, timeout=TIMEOUT)

    def check(self) -> dict[str, int]:
        """How much is lost or wrong, by what it is."""
        stack = self.load.stack
        with client(stack, TENANT) as api:
            delivered(api)
            eventually(lambda: api.get("/artist-names").is_success, bool)  # it is built
        roll_up(stack)
        with self._open_client_of_deleted() as api:
            job = eventually(
                lambda: api.get(self._job).json(), lambda job: job["state"] != "running"
            )
        verified = eventually(self._verify, lambda one: not one.wrong())
        deleted = keys.render_prefix(DELETED_TENANT)
        stored = items_of(self.load.dynamodb, stack["table"])
        left = [item for item in stored if item["PK"]["S"].startswith(deleted)]
        figures = eventually(self.compare_figures, lambda wrong: not any(wrong.values()))
        verify = run_command(self.instance, "verify", "--json")
        return {
            **self.count_lost(),
            **figures,
            "derived items that differ": len(verified.wrong()),
            "exit code of daicho verify": verify.returncode,
            "jobs of the deleted tenant that failed": int(job["state"] != "succeeded"),
            "items of the deleted tenant": sum(
                choose_action(item) is not DeletionAction.STAYS for item in left
            ),
        }

    def _verify(self) -> Verified:
        return Verified(self.load.stack, self.changing.project.load_ledger())

    def compare_figures(self) -> dict[str, int]:
        """How many figures of the API are another than the number of items."""
        base = self._verify().base
        owned = [item for item in base if keys.render_prefix(TENANT) in item["PK"]["S"]]
        kinds = {"Ballot": "candidate", "Download": "song", "Artist": "name"}
        right = {
            kind: Counter(item[field]["S"] for item in owned if item["type"]["S"] == kind)
            for kind, field in kinds.items()
        }
        with client(self.load.stack, TENANT) as api:
            votes = api.get(self.load.poll, params={"live": "true"}).json()["totals"]
            charts = {
                "song": everything(api, f"/charts/{MONTH}"),
                "name": everything(api, "/artist-names"),
            }
        shown = {name: {row[name]: row["count"] for row in rows} for name, rows in charts.items()}
        pairs = (
            (right["Ballot"], votes),
            (right["Download"], shown["song"]),
            (right["Artist"], shown["name"]),
        )
        return {
            f"figures of {kind}": sum(expected[key] != found.get(key, 0) for key in expected)
            for kind, (expected, found) in zip(kinds, pairs, strict=True)
        }

    def count_lost(self) -> dict[str, int]:
        """How many acknowledged writes of each kind are not there, or there more than once."""
        load, stack = self.load, self.load.stack
        made = {kind: set(writes.values()) for kind, writes in load.acknowledged.items()}
        with client(stack, TENANT) as api:
            artists = {f"/artists/{one['id']}" for one in everything(api, "/artists", name="soak")}
            votes = {
                f"{load.poll}/votes/{one['voter']}" for one in everything(api, f"{load.poll}/votes")
            }
            sent = {one["id"]: one["text"] for one in everything(api, "/messages")}
            downloads = [
                one["id"] for song in "012" for one in everything(api, f"/songs/s{song}/downloads")
            ]
        archived = query_archive(self.instance)
        ids = [row["id"] for row in archived if row["text"].startswith("soak")]
        texts = Counter([*sent.values(), *(row["text"] for row in archived)])
        pages = load.s3.get_paginator("list_objects_v2").paginate(
            Bucket=stack["failures"], Prefix="soak/"
        )
        objects = {f"{one['Key']} {one['ETag']}" for page in pages for one in page["Contents"]}
        in_pool = load.cognito.get_paginator("list_users").paginate(UserPoolId=stack["user_pool"])
        users = {user["Username"] for page in in_pool for user in page["Users"]}
        return {
            "artists lost": len(made["_put_artist"] - artists),
            "votes lost": len(made["_vote"] - votes),
            "messages lost": len(made["_send_message"] - sent.keys() - set(ids)),
            "messages archived twice, or before their deletion": len(ids)
            - len(set(ids) - sent.keys()),
            "messages sent twice": sum(
                count > 1 for text, count in texts.items() if text.startswith("soak")
            ),
            "downloads lost": len(made["_download"] - set(downloads)),
            "downloads made twice": max(0, len(downloads) - len(made["_download"]) - 1),
            "objects lost": len(made["_put_object"] - objects),
            "users lost": len(made["_create_user"] - users),
            "transactions not applied once": sum(
                read_sum(load, pk, side) != 1 for pk in made["_add_once"] for side in "ab"
            ),
        }

    def report(self, plot: Path) -> int:
        """Print figures beside thresholds, and write the plot; the number of figures missed."""
        counts = ", ".join(f"{len(one):,} {kind}" for kind, one in self.load.acknowledged.items())
        say(f"acknowledged: {counts}; {self.load.failures} attempts were repeated")
        say(f"the local AWS was killed {self.restarts} times, and never stopped")
        plot.write_text(render_plot(self.load.answers, self.kills), "utf-8")
        say(f"writes over time: {plot}")
        durations = [seconds * 1000 for _, seconds in self.load.answers]
        percentiles = statistics.quantiles(durations, n=100)
        figures = [
            ("longest up without a deployment, s", self.slowest, MAX_SECONDS_OF_UP),
            ("longest up with one, s", self.slowest_deployment, MAX_SECONDS_OF_A_DEPLOYMENT),
            ("a write, median ms", percentiles[49], MAX_MEDIAN_MS),
            ("a write, 95 % ms", percentiles[94], MAX_P99_MS),
            ("a write, 99 % ms", percentiles[98], MAX_P99_MS),
            *((name, count, 0) for name, count in self.check().items()),
        ]
        for name, value, threshold in figures:
            say(f"{name}: {value:,.0f} (at most {threshold:,.0f})")
        return sum(value > threshold for _, value, threshold in figures)


def render_plot(answers: Sequence[tuple[float, float]], kills: Sequence[float]) -> str:
    """Acknowledged writes a second, as an SVG; a red line is a kill."""
    began, ended = min(at for at, _ in answers), max(at for at, _ in answers)
    counts = Counter(int((at - began) / SECONDS_OF_A_BAR) for at, _ in answers)
    highest = max(counts.values())
    bars = (
        f'<rect x="{place * 4}" y="{200 - 180 * count / highest:.0f}" width="3" '
        f'height="{180 * count / highest:.0f}" fill="#468"/>'
        for place, count in counts.items()
    )
    lines = (
        f'<path d="M{(at - began) / SECONDS_OF_A_BAR * 4:.0f},20v180" stroke="#c00"/>'
        for at in kills
        if at > began
    )
    width = 4 * ((ended - began) / SECONDS_OF_A_BAR + 1)
    top = (
        f'<text x="2" y="14" font-size="12">{highest / SECONDS_OF_A_BAR:.0f} writes a second</text>'
    )
    size = f'viewBox="0 0 {width:.0f} 204"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join((top, *bars, *lines))}</svg>'


def read_sum(load: Load, pk: str, side: str) -> int:
    """What the requests of a token have added to an item."""
    key = {"PK": {"S": pk}, "SK": {"S": side}}
    answer = load.dynamodb.get_item(TableName=load.stack["table"], Key=key)
    return int(answer.get("Item", {"n": {"N": "0"}})["n"]["N"])


def query_archive(instance: LocalInstance) -> list[dict[str, Any]]:
    """All archived messages."""
    today = dt.datetime.now(dt.UTC).date()
    period = ("--since", str(today), "--until", str(today + dt.timedelta(days=DAYS + 1)))
    done = run_command(instance, "archive", "query", "--entity", "Message", *period, "-o", "json")
    return [row["item"] for row in json.loads(done.stdout)]


def run_command(instance: LocalInstance, *command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command of ``daicho`` on the local AWS."""
    return subprocess.run(
        [sys.executable, "-m", "daicho_cli", *command, "--stack", str(instance.stack_file)],
        check=False,
        capture_output=True,
        cwd=instance.project.root,
    )


def start_command(instance: LocalInstance, log: Any, *command: str) -> subprocess.Popen[bytes]:
    """Start a command of the local AWS."""
    place = {"DAICHO_LOCAL": str(instance.folder), "PORT": str(instance.port)}
    return subprocess.Popen(
        [sys.executable, "-m", "daicho_cli.local", *command],
        env={**os.environ, **place},
        cwd=instance.project.root,
        stdout=log,
        stderr=subprocess.STDOUT,
    )


def list_functions(server: int) -> list[int]:
    """The process ids of the functions: children of the local AWS."""
    children = Path(f"/proc/{server}/task/{server}/children")
    threads = children.parent.parent.glob("*/children")
    return [int(pid) for thread in threads for pid in thread.read_text("ascii").split()]


def kill_some(instance: LocalInstance, expiry: int, chance: random.Random) -> str:
    """Kill the local AWS, or any others of the local processes, or all; which they were."""
    server = find_program(instance).pid
    player = lifecycle.ttl_player(instance).pid
    functions = list_functions(server) if server else []
    groups: dict[str, Sequence[int | None]] = {
        SERVER: [server],
        "TTL's player": [player],
        "a function": [chance.choice(functions)] if functions else [],
        "simulated days": [expiry],
    }
    # The local AWS in most of them: the others have no state.
    chosen = {name for name in groups if chance.random() < 0.4} | (
        {SERVER} if chance.random() < 0.8 else set()
    )
    for pid in [pid for name in chosen for pid in groups[name] if pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return ", ".join(sorted(chosen)) or "nothing"


def main() -> int:
    """Start a local AWS of its own, and remove it at the end unless something was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--kills", type=int, default=3, help="of the local AWS, at least")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    use_local_aws()
    os.environ["SFN_WAIT_SCALE"] = "0.25"  # of the job that deletes a tenant
    folder = Path(os.environ.get("DAICHO_LOCAL", PROGRAMS / "soak"))
    say(f"seed {given.seed}")
    domains = {file.name: file.read_text("utf-8") for file in DOMAINS.glob("[a-z]*.py")}
    with tempfile.TemporaryDirectory() as place:
        changing = ChangingProject.create(Path(place, "soak"), domains)
        instance = LocalInstance(folder, free_port(), changing.project)
        lifecycle.reset(instance, say)
        lifecycle.up(instance, lambda _: None, with_sample=False)
        soak, missed = Soak(changing, instance, given.seed), 1
        try:
            soak.run(given.minutes, given.kills)
            missed = soak.report(folder.with_suffix(".svg"))
        except subprocess.CalledProcessError as error:
            say(f"{error}: see {instance.logs / 'soak.log'}")
        finally:
            soak.close()
            (lifecycle.down if missed else lifecycle.reset)(instance, say)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

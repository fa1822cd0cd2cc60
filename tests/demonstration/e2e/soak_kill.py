"""``make soak-kill``: local processes are killed under load, and nothing acknowledged is lost.

Five clients write over HTTP and through AWS's interfaces; messages expire meanwhile. At random
moments random processes get SIGKILL: the local AWS, functions, TTL's player, a simulation of days,
and now and then the local AWS once more while it is deployed again. Each time ``up`` follows.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import boto3
import httpx
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from daicho_cli.local import lifecycle
from daicho_cli.local.environment import REGION, use_local_aws
from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.server import find_program
from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import TIMEOUT, client, everything
from tests.e2e.verified import Verified
from tests.support.dynoxide import free_port
from tests.support.repository import PROGRAMS, PROJECT, ROOT

MAX_SECONDS_OF_UP = 30.0
SECONDS_BEFORE_A_KILL = (0.5, 4.0)
SHARE_OF_KILLS_WHILE_DEPLOYING = 0.2
DAYS = 8
"""Messages live for seven."""
TENANT = "acme"
CLIENT = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30)


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Load:
    """Clients that write until they are stopped, and what was acknowledged to them.

    Attributes:
        acknowledged: the numbers of the writes that were answered, by their kind.
    """

    def __init__(self, instance: LocalInstance) -> None:
        self.stack = instance.stack()
        kinds = (self._put_artist, self._vote, self._send_message, self._put_object)
        self.acknowledged: dict[str, dict[int, str]] = {}
        self._stop, self.may_write = threading.Event(), threading.Event()
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
        self._threads = [
            threading.Thread(target=self._write, args=(kind,))
            for kind in (*kinds, self._create_user, self._add_once)
        ]

    def start(self) -> None:
        """Begin to write; ``may_write`` pauses it."""
        self.may_write.set()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let every write that has begun end."""
        self._stop.set()
        self.may_write.set()
        for thread in self._threads:
            thread.join()

    def is_answered(self) -> bool:
        """Whether a read over HTTP is answered."""
        try:
            return self._api.get(self.poll).is_success
        except httpx.HTTPError:
            return False

    def _write(self, write: Callable[[int], str]) -> None:
        made = self.acknowledged.setdefault(write.__name__, {})
        number = 0
        while not self._stop.is_set():
            self.may_write.wait()
            number += 1
            try:
                made[number] = write(number)
            except (httpx.HTTPError, ClientError, BotoCoreError):
                time.sleep(0.2)  # not acknowledged: it may exist or not

    def _put_artist(self, number: int) -> str:
        path = f"/artists/soak-{number}"
        self._api.put(path, json={"name": f"Soak {number}"}).raise_for_status()
        return path

    def _vote(self, number: int) -> str:
        path = f"{self.poll}/votes/v{number}"
        self._api.put(path, json={"candidate": "ann"}).raise_for_status()
        return path

    def _send_message(self, number: int) -> str:
        answer = self._api.post("/messages", json={"text": f"soak {number}"}).raise_for_status()
        return str(answer.json()["id"])

    def _put_object(self, number: int) -> str:
        key, body = f"soak/{number}", f"{number}" * 1000
        answer = self.s3.put_object(Bucket=self.stack["failures"], Key=key, Body=body)
        time.sleep(0.05)
        return f"{key} {answer['ETag']}"

    def _create_user(self, number: int) -> str:
        name = f"soak-{number}"
        self.cognito.admin_create_user(UserPoolId=self.stack["user_pool"], Username=name)
        time.sleep(0.2)
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
        while True:
            try:
                self.dynamodb.transact_write_items(
                    TransactItems=actions, ClientRequestToken=f"soak-{number}"
                )
            except (ClientError, BotoCoreError):
                if self._stop.is_set():
                    raise
                time.sleep(0.2)
            else:
                time.sleep(0.05)
                return keys[0]["PK"]["S"]


def count_lost(load: Load, instance: LocalInstance) -> dict[str, int]:
    """How many acknowledged writes of each kind are not there, or there in another form."""
    made = {kind: set(writes.values()) for kind, writes in load.acknowledged.items()}
    stack = load.stack
    with client(stack, TENANT) as api:
        delivered(api)
        artists = {f"/artists/{item['id']}" for item in everything(api, "/artists", name="soak")}
        votes = {
            f"{load.poll}/votes/{vote['voter']}" for vote in everything(api, f"{load.poll}/votes")
        }
        counted = api.get(load.poll, params={"live": "true"}).json()["totals"].get("ann", 0)
        messages = {item["id"] for item in everything(api, "/messages")}
    archived = query_archive(instance)
    pages = load.s3.get_paginator("list_objects_v2").paginate(
        Bucket=stack["failures"], Prefix="soak/"
    )
    objects = {f"{one['Key']} {one['ETag']}" for page in pages for one in page.get("Contents", ())}
    in_pool = load.cognito.get_paginator("list_users").paginate(UserPoolId=stack["user_pool"])
    users = {user["Username"] for page in in_pool for user in page["Users"]}
    verified = Verified(stack, PROJECT.load_ledger())
    return {
        "artists": len(made["_put_artist"] - artists),
        "votes": len(made["_vote"] - votes),
        "votes in the figure": abs(len(votes) - counted),
        "messages": len(made["_send_message"] - messages - set(archived)),
        "messages in table and archive": len(messages & set(archived)),
        "messages archived twice": len(archived) - len(set(archived)),
        "objects": len(made["_put_object"] - objects),
        "users": len(made["_create_user"] - users),
        "transactions not applied once": sum(
            read_sum(load, pk, side) != 1 for pk in made["_add_once"] for side in "ab"
        ),
        "derived items that differ": len(verified.wrong()),
    }


def read_sum(load: Load, pk: str, side: str) -> int:
    """What the requests of a token have added to an item."""
    key = {"PK": {"S": pk}, "SK": {"S": side}}
    answer = load.dynamodb.get_item(TableName=load.stack["table"], Key=key)
    return int(answer.get("Item", {"n": {"N": "0"}})["n"]["N"])


def query_archive(instance: LocalInstance) -> list[str]:
    """The ids of all archived messages."""
    today = dt.datetime.now(dt.UTC).date()
    period = ("--since", str(today), "--until", str(today + dt.timedelta(days=DAYS + 1)))
    place = ("-o", "json", "--stack", str(instance.stack_file))
    command = ("archive", "query", "--entity", "Message", *period, *place)
    done = subprocess.run(
        [sys.executable, "-m", "daicho_cli", *command], check=True, capture_output=True, cwd=ROOT
    )
    return [row["item"]["id"] for row in json.loads(done.stdout)]


def start_command(instance: LocalInstance, log: Any, *command: str) -> subprocess.Popen[bytes]:
    """Start a command of the local AWS."""
    place = {"DAICHO_LOCAL": str(instance.folder), "PORT": str(instance.port)}
    return subprocess.Popen(
        [sys.executable, "-m", "daicho_cli.local", *command],
        env={**os.environ, **place},
        cwd=ROOT,
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
        "local AWS": [server],
        "TTL's player": [player],
        "a function": [chance.choice(functions)] if functions else [],
        "simulated days": [expiry],
    }
    # The local AWS in most of them: the others have no state.
    chosen = {name for name in groups if chance.random() < 0.4} | (
        {"local AWS"} if chance.random() < 0.8 else set()
    )
    for pid in [pid for name in chosen for pid in groups[name] if pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return ", ".join(sorted(chosen)) or "nothing"


def kill_once(
    instance: LocalInstance, load: Load, chance: random.Random, log: Any
) -> tuple[str, float, float]:
    """Kill processes and bring all up again: which they were, seconds to an answer and to the end.

    Raises:
        CalledProcessError: it does not come up.
    """
    expiry = start_command(instance, log, "expire", "--days", str(DAYS))
    time.sleep(chance.uniform(*SECONDS_BEFORE_A_KILL))
    killed = kill_some(instance, expiry.pid, chance)
    if chance.random() < SHARE_OF_KILLS_WHILE_DEPLOYING:
        up = start_command(instance, log, "up", "--no-sample")
        time.sleep(chance.uniform(1, 10))
        killed += f"; during up: {kill_some(instance, expiry.pid, chance)}"
        up.kill()
        up.wait()
    load.may_write.clear()
    began, answered = time.monotonic(), 0.0
    up = start_command(instance, log, "up", "--no-sample")
    while up.poll() is None:
        if not answered and load.is_answered():
            answered = time.monotonic() - began
        time.sleep(0.1)
    expiry.kill()
    expiry.wait()
    if up.returncode:
        raise subprocess.CalledProcessError(up.returncode, "up")
    load.may_write.set()
    return killed, answered or time.monotonic() - began, time.monotonic() - began


def run(instance: LocalInstance, times: int, seed: int) -> int:
    """Kill so many times; print figures beside thresholds; the exit code."""
    chance, load = random.Random(seed), Load(instance)
    load.start()
    slow = 0.0
    try:
        with (instance.logs / "soak.log").open("ab") as log:
            for number in range(1, times + 1):
                killed, answered, seconds = kill_once(instance, load, chance, log)
                slow = max(slow, seconds)
                say(f"{number}. {killed}: it answers in {answered:.1f} s, up in {seconds:.1f} s")
    except subprocess.CalledProcessError as error:
        say(f"{error}: see {instance.logs / 'soak.log'}")
        return 1
    finally:
        load.stop()
    kinds = ", ".join(f"{len(writes):,} {kind}" for kind, writes in load.acknowledged.items())
    say(f"acknowledged: {kinds}")
    say(f"longest up {slow:.1f} s (at most {MAX_SECONDS_OF_UP:.0f} s)")
    lost = count_lost(load, instance)
    for kind, count in lost.items():
        say(f"lost or wrong: {count} {kind} (at most 0)")
    return int(any(lost.values()) or slow > MAX_SECONDS_OF_UP)


def main() -> int:
    """Start a local AWS of its own, and remove it at the end unless something was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    use_local_aws()
    folder = Path(os.environ.get("DAICHO_LOCAL", PROGRAMS / "soak-kill"))
    instance = LocalInstance(folder, free_port(), PROJECT)
    say(f"seed {given.seed}")
    lifecycle.reset(instance, say)
    lifecycle.up(instance, say, with_sample=False)
    code = run(instance, given.times, given.seed)
    if code == 0:
        lifecycle.reset(instance, say)
    return code


if __name__ == "__main__":
    sys.exit(main())

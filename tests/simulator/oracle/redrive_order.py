"""Checks the order in which redrives apply records: of an item, the oldest claim first (rule 15).

The final state does not depend on this order, because deltas commute and derived items are written
from the base item. So the comparison at the end cannot find a wrong order. What is read in between
depends on it: an item whose newer change is counted, and whose older change is not, is in two
groups, or in none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from daicho.redrive.applier import Applier, ApplyResult
from daicho.redrive.claim_ids import ClaimId
from daicho.redrive.redrive import Redrive
from daicho.redrive.report import START, RedriveReport, RedriveRequest
from daicho.runtime.retry import RetryBudget
from daicho.storage import keys
from daicho.storage.attributes import Image, ItemKey
from daicho.storage.bucket import Bucket
from daicho.stream.claims import QUARANTINE, Claim, ShardClaims, render_payload_name
from daicho.stream.failed_batch import ON_FAILURE_PREFIX
from daicho.stream.records import StreamRecord, render_sequence
from daicho.testing.faults.processes import SimulatedProcess, get_running_process
from daicho.testing.faults.simulated_deployment import SimulatedDeployment
from daicho.testing.stack_settings import FAILURE_BUCKET

_SHARD_PREFIX = keys.render_prefix("", "shard")


@dataclass
class Call:
    """One call of a redrive. ``older``: what was quarantined when it began, by item."""

    older: Mapping[ClaimId, ItemKey]
    attempted: set[ClaimId] = field(default_factory=set)


class RedriveOrderCheck:
    """Watches redrives. ``done``: the claims that became done."""

    def __init__(self, deployment: SimulatedDeployment, unexpected: list[str]) -> None:
        self._deployment = deployment
        self._unexpected = unexpected
        self._calls: dict[SimulatedProcess | None, Call] = {}
        self.done: set[ClaimId] = set()
        deployment.observers.append(self._observe)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch all calls, and every record that they apply."""
        run, apply = Redrive.run, Applier.apply

        def watch_run(
            redrive: Redrive, request: RedriveRequest, retry_budget: RetryBudget
        ) -> RedriveReport:
            call = Call(self._list_claims_behind(request))
            self._calls[get_running_process()] = call
            discarded = self._list_discarded() if _is_whole_choice(request) else set()
            report = run(redrive, request, retry_budget)
            if report.finished:
                self._check_discarded(call, discarded - report.claims.keys())
            return report

        def watch_apply(
            applier: Applier, record: StreamRecord, claim: Claim, retry_budget: RetryBudget
        ) -> ApplyResult:
            self._check(record)
            return apply(applier, record, claim, retry_budget)

        with (
            mock.patch.object(Redrive, "run", watch_run),
            mock.patch.object(Applier, "apply", watch_apply),
        ):
            yield

    def _check(self, record: StreamRecord) -> None:
        """Before a record is applied: the call has tried the older claims of its item."""
        call = self._calls[get_running_process()]
        id = (record.shard, record.seq)
        if id in call.older:
            for older, item in call.older.items():
                is_older = item == record.key and older[1] < record.seq
                if is_older and older not in call.attempted and self._is_open(older):
                    self._unexpected.append(f"redriven before {older} of its item: {id}")
        call.attempted.add(id)

    def _check_discarded(self, call: Call, discarded: set[ClaimId]) -> None:
        """After a choice is applied: no older discarded record of the same shard is left.

        ``discarded``: what could be chosen, without what could not be applied.
        """
        stored_claims = _list_claims(self._deployment)
        newest: dict[str, str] = {}
        for shard, seq in sorted(call.attempted & discarded):
            newest[shard] = seq
        for shard, seq in sorted(discarded - call.attempted):
            state = stored_claims.get((shard, seq), "discarded")
            if seq < newest.get(shard, "") and state == "discarded":
                self._unexpected.append(f"a newer record was chosen without {shard} {seq}")

    def _list_claims_behind(self, request: RedriveRequest) -> dict[ClaimId, ItemKey]:
        """The quarantined claims that a call can see, and that it has not passed already."""
        if request.begin.phase != "claims":
            return {}
        begin = request.begin
        by_number = request.chosen is not None
        passed = (begin.seq, begin.place) if by_number else (begin.place, begin.seq)
        index = self._deployment.dynamodb.indexes["GSI2"]
        visible = {item["GSI2SK"]["S"] for item in index.list_partition(QUARANTINE)}
        claims: dict[ClaimId, ItemKey] = {}
        for (shard, seq), state in _list_claims(self._deployment).items():
            position = (seq, shard) if by_number else (shard, seq)
            if state in ("open", "uncertain") and position > passed and shard in visible:
                key = _read_item(self._deployment, (shard, seq))
                if key is not None:
                    claims[shard, seq] = key
        return claims

    def _list_discarded(self) -> set[ClaimId]:
        """The records of discarded batches that are not quarantined, nor done."""
        stored_claims = _list_claims(self._deployment)
        waiting = list_set_aside(self._deployment)
        return {id for id in waiting if stored_claims.get(id, "discarded") == "discarded"}

    def _is_open(self, id: ClaimId) -> bool:
        return _list_claims(self._deployment).get(id) in ("open", "uncertain")

    def _observe(self, key: ItemKey, old: Image | None, new: Image | None) -> None:
        if new is not None and key.pk.startswith(_SHARD_PREFIX):
            shard = keys.parse(key.pk)[2]
            claims = ShardClaims.from_item(shard, new).claims
            self.done |= {(shard, seq) for seq, each in claims.items() if each.state == "done"}


def _is_whole_choice(request: RedriveRequest) -> bool:
    """Whether a call begins to apply chosen records."""
    return request.action == "apply" and request.chosen is not None and request.begin == START


def list_set_aside(deployment: SimulatedDeployment) -> set[ClaimId]:
    """Everything that an operator may choose: open claims, and records of discarded batches."""
    claims = _list_claims(deployment)
    found = {id for id, state in claims.items() if state != "done"}
    bucket = _open_failures(deployment)
    for name in bucket.list_names(ON_FAILURE_PREFIX):
        content = json.loads(bucket.read(name) or b"{}")
        if not content["requestContext"]["functionArn"].endswith(":project"):
            continue
        shard = content["DDBStreamBatchInfo"]["shardId"]
        for record in json.loads(content["payload"])["Records"]:
            label = record["eventSourceARN"].rsplit("/", 1)[-1]
            id = (shard, render_sequence(label, record["dynamodb"]["SequenceNumber"]))
            if claims.get(id) != "done":
                found.add(id)
    return found


def _list_claims(deployment: SimulatedDeployment) -> dict[ClaimId, str]:
    """The state of every claim."""
    return {
        (shard.id, seq): claim.state
        for key, item in deployment.dynamodb.items
        if key.pk.startswith(_SHARD_PREFIX) and key.sk == "claims"
        for shard in [ShardClaims.from_item(keys.parse(key.pk)[2], item)]
        for seq, claim in shard.claims.items()
    }


def _read_item(deployment: SimulatedDeployment, id: ClaimId) -> ItemKey | None:
    """The item of a claim, by its payload; None if that is not there."""
    body = _open_failures(deployment).read(render_payload_name(*id))
    if body is None:
        return None
    key = json.loads(body)["record"]["dynamodb"]["Keys"]
    return ItemKey(key["PK"]["S"], key["SK"]["S"])


def _open_failures(deployment: SimulatedDeployment) -> Bucket:
    client: Any = deployment.buckets[FAILURE_BUCKET]
    return Bucket(client, FAILURE_BUCKET)

"""Claims on records that were set aside, and the shard item that holds them: pure.

Each shard of the stream has an item, which is written once a batch::

    PK #shard#<shard>   SK claims
    announced           the last number that a batch was about to write (rule 14)
    low_watermark       the first number of a batch; all records below it are handled (rule 31)
    low_time            when that first record was made (rule 55)
    heartbeat#<run>#<entity>  the number of the first heartbeat of a run that arrived (rule 28)
    journal             the flag of a verification, or ``-`` (`daicho.stream.journal`)
    claim#<number>      a claim: state, entity, generation and time, as a key string
    open, done          how many claims wait for a redrive, and how many are done
    retired             the time since which no batch of the shard is written (rule 48)
    GSI2PK, GSI2SK      while any is open: so that a redrive finds the shard by one query
    ttl, held           30 days ahead, but never while any is open

A claim takes a record from the projector for good. Whatever the claim's state, a batch leaves the
record out (rule 14), and only a redrive applies it, once (rules 15, 16). A done claim is kept for
72 hours, because an attempt that was given up may still find the record poison.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal, get_args

from daicho.layout.heartbeats import HeartbeatName
from daicho.layout.retention import STREAM_SAFETY_WINDOW
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage import attributes, keys
from daicho.storage.attributes import AttributeValue, Image, ItemKey
from daicho.storage.requests import Update
from daicho.stream.records import StreamRecord

State = Literal["open", "uncertain", "discarded", "done"]
"""``open``: nobody has counted the record. ``uncertain``: somebody may have. ``discarded``: Lambda
gave it up, and its slots' numbers show what was counted. ``done``: applied."""

MAX_OPEN_CLAIMS = 1_000
"""Open claims of one shard (rule 18)."""
MAX_DONE_CLAIMS = 2_000
"""Done claims of one shard: with those that are open they fit into an item's 400 KB."""
DONE_CLAIM_RETENTION = STREAM_SAFETY_WINDOW
SHARD_ITEM_RETENTION = dt.timedelta(days=30)
NEVER = 32_503_680_000
"""The year 3000, in epoch seconds: the expiry of what must not expire."""

QUARANTINE = keys.render("", "quarantine")
"""The GSI2 partition of shards that have open claims."""

QUARANTINE_PREFIX = "quarantine/"
"""How the names of payloads begin in the failure bucket."""

MAX_FINISHED = 50
"""Claims that one update makes done: its expression has at most 4 KB."""
MAX_HEARTBEATS = 50
"""Heartbeats of different names in one announcement: its expression has at most 4 KB."""

_PREFIX = "claim#"
_HEARTBEAT = "heartbeat"
_NAMES: Mapping[str, str] = {"#open": "open", "#done": "done"}
_ONE: AttributeValue = {"N": "1"}
_IS_NOT_RETIRED = "attribute_not_exists(retired)"


@dataclass(frozen=True)
class Claim:
    """A record that was set aside. ``at``: when it came into this state."""

    seq: str
    state: State
    entity: str
    generation: int
    at: dt.datetime

    @classmethod
    def for_record(cls, record: StreamRecord, state: State, now: dt.datetime) -> Claim:
        """A claim on a record, with as much of it as can be read."""
        return cls(record.seq, state, record.entity or "", _generation(record), now)

    @classmethod
    def parse(cls, name: str, value: AttributeValue) -> Claim:
        """Read an attribute of a shard item."""
        state, entity, generation, at = keys.parse(value["S"])
        if state not in get_args(State):
            raise ValueError(f"a claim in state {state!r}")
        moment = dt.datetime.fromisoformat(at)
        return cls(name.removeprefix(_PREFIX), state, entity, int(generation), moment)  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """The attribute's name."""
        return f"{_PREFIX}{self.seq}"

    @property
    def value(self) -> AttributeValue:
        """The attribute's value."""
        text = keys.render(
            self.state, self.entity, str(self.generation), keys.render_instant(self.at)
        )
        return {"S": text}


@dataclass(frozen=True)
class Announcement:
    """What a batch announces before it writes (rules 14 and 31).

    ``first``: the first record of the batch, made at ``low_time``. ``last``: the last one that it
    is about to write, or its last heartbeat. ``heartbeats``: the number of the first heartbeat of
    each name.
    """

    first: str
    last: str
    heartbeats: Mapping[HeartbeatName, str] = field(default_factory=dict)
    low_time: dt.datetime | None = None


@dataclass(frozen=True)
class ShardClaims:
    """The content of a shard item.

    ``heartbeats``: the number of the first heartbeat of each name that was announced.
    ``retired_at``: since when every batch of the shard is a repeat (rule 48); None if it is not so.
    ``journal``: the flag of a verification (rule 36); "" if the shard has no such attribute.
    """

    id: str
    announced: str = ""
    open: int = 0
    claims: Mapping[str, Claim] = field(default_factory=dict)
    low_watermark: str = ""
    heartbeats: Mapping[HeartbeatName, str] = field(default_factory=dict)
    retired_at: dt.datetime | None = None
    low_time: str = ""
    journal: str = ""

    @classmethod
    def from_item(cls, shard: str, image: Image | None) -> ShardClaims:
        """Read a shard item; None gives a shard without claims."""
        if image is None:
            return cls(shard)
        claims = [Claim.parse(name, image[name]) for name in image if name.startswith(_PREFIX)]
        retired = attributes.get_text(image, "retired")
        return cls(
            shard,
            attributes.get_text(image, "announced") or "",
            attributes.get_integer(image, "open") or 0,
            {claim.seq: claim for claim in sorted(claims, key=lambda claim: claim.seq)},
            attributes.get_text(image, "low_watermark") or "",
            _read_heartbeats(image),
            None if retired is None else dt.datetime.fromisoformat(retired),
            attributes.get_text(image, "low_time") or "",
            attributes.get_text(image, "journal") or "",
        )

    @property
    def open_claims(self) -> tuple[Claim, ...]:
        """The claims that are not done, in ascending order."""
        return tuple(claim for claim in self.claims.values() if claim.state != "done")

    def has_passed(self, name: HeartbeatName) -> bool:
        """Whether a heartbeat arrived, and every record before it is handled (rule 31).

        Any heartbeat of the run will do, since the run began before all of them.
        """
        number = self.heartbeats.get(name)
        return number is not None and self.low_watermark >= number

    @property
    def highest(self) -> str:
        """The highest number under which anything was written because of the shard; "" if none."""
        return max((self.announced, *self.claims))

    @property
    def is_full_of_done(self) -> bool:
        """Whether another claim of it could not become done."""
        return sum(claim.state == "done" for claim in self.claims.values()) >= MAX_DONE_CLAIMS

    def list_expired(self, now: dt.datetime) -> tuple[Claim, ...]:
        """The claims that have been done for 72 hours."""
        since = now - DONE_CLAIM_RETENTION
        return tuple(c for c in self.claims.values() if c.state == "done" and c.at <= since)


def build_shard_key(shard: str) -> ItemKey:
    """The shard item."""
    return ItemKey(keys.render("", "shard", shard), "claims")


def render_payload_name(shard: str, seq: str) -> str:
    """The object that holds the record of a claim."""
    label, _, number = seq.partition("#")
    return f"{QUARANTINE_PREFIX}{shard}/{label}_{number}.json"


def put_claim_update(shard: str, claim: Claim) -> Update:
    """Put a claim if there is none on the record, whatever its state (rule 13).

    A claim in state ``open`` is good only while no batch has announced the record (rule 14):
    otherwise an attempt of older or newer code, which could compute it, may have counted it. And
    it is put only while the shard has fewer than 1,000 open claims (rule 18).

    Batches put no claim in a retired shard (rule 48). A redrive still does, in state ``discarded``.
    """
    names = {"#claim": claim.name, "#open": "open", "#ttl": "ttl"}
    condition = "attribute_not_exists(#claim) AND (attribute_not_exists(#open) OR #open < :most)"
    values: dict[str, AttributeValue] = {
        ":claim": claim.value,
        ":most": attributes.to_value(MAX_OPEN_CLAIMS),
        ":quarantine": {"S": QUARANTINE},
        ":shard": {"S": shard},
        ":never": attributes.to_value(NEVER),
        ":one": _ONE,
    }
    if claim.state == "open":
        condition += " AND (attribute_not_exists(announced) OR announced < :seq)"
        values[":seq"] = {"S": claim.seq}
    if claim.state != "discarded":
        condition += f" AND {_IS_NOT_RETIRED}"
    return Update(
        build_shard_key(shard),
        "SET #claim = :claim, GSI2PK = :quarantine, GSI2SK = :shard, held = :never, #ttl = :never"
        " ADD #open :one",
        condition,
        names,
        values,
    )


def announce_update(
    shard: str, announcement: Announcement, now: dt.datetime, *, raises_low_watermark: bool = True
) -> Update:
    """Raise the announced number (rule 14) and the low watermark (rule 31). Neither is lowered.

    The low time follows the low watermark (rule 55).

    Both answers, the new item and the item that refused it, hold the claims. The first number of
    each heartbeat stays: a later one would move away from the low watermark again and again. The
    item expires 30 days later, long after its shard is gone, unless a claim holds it. A shard that
    is retired refuses all announcements (rule 48).

    ``raises_low_watermark``: not if the low watermark is higher than the batch's first record.
    """
    sets = ["announced = :last", "#ttl = if_not_exists(held, :ttl)"]
    condition = "(attribute_not_exists(announced) OR announced < :last)"
    names = {"#ttl": "ttl"}
    values: dict[str, AttributeValue] = {
        ":last": {"S": announcement.last},
        ":ttl": attributes.to_value(int((now + SHARD_ITEM_RETENTION).timestamp())),
    }
    if raises_low_watermark:
        sets.append("low_watermark = :first")
        condition += " AND (attribute_not_exists(low_watermark) OR low_watermark <= :first)"
        values[":first"] = {"S": announcement.first}
        if announcement.low_time is not None:
            sets.append("low_time = :low_time")
            values[":low_time"] = {"S": keys.render_instant(announcement.low_time)}
    for place, (name, seq) in enumerate(announcement.heartbeats.items()):
        sets.append(f"#h{place} = if_not_exists(#h{place}, :h{place})")
        names[f"#h{place}"] = render_heartbeat(name)
        values[f":h{place}"] = {"S": seq}
    update = f"SET {', '.join(sets)}"
    condition += f" AND {_IS_NOT_RETIRED}"
    return Update(build_shard_key(shard), update, condition, names, values)


def retire_update(shard: str, now: dt.datetime) -> Update:
    """Retire a shard whose records are all handled, unless it is retired (rule 48).

    The item outlives whatever may still arrive of the shard: the stream keeps a record for a day.
    """
    return Update(
        build_shard_key(shard),
        "SET retired = :now, #ttl = if_not_exists(held, :ttl)",
        _IS_NOT_RETIRED,
        {"#ttl": "ttl"},
        {
            ":now": {"S": keys.render_instant(now)},
            ":ttl": attributes.to_value(int((now + SHARD_ITEM_RETENTION).timestamp())),
        },
    )


def forget_heartbeats_update(key: ItemKey, names: Sequence[HeartbeatName]) -> Update:
    """Remove the heartbeats of a run that is over. At most `MAX_HEARTBEATS`.

    ``key``: of the item of a shard, as a consumer of the stream keeps it.
    """
    placeholders = {f"#h{place}": render_heartbeat(name) for place, name in enumerate(names)}
    return Update(
        key,
        f"REMOVE {', '.join(placeholders)}",
        "attribute_exists(PK)",
        placeholders,
        {},
    )


def finish_update(shard: str, claim: Claim, now: dt.datetime, *more: Claim) -> Update:
    """Make a claim done if it is as read: a part of the transaction that counts its record.

    ``more``: further claims of a dismissal (rule 56). With them at most `MAX_FINISHED`.
    """
    finished = (claim, *more)
    done = Claim("", "done", "", 0, now)  # short: most claims are done
    names = {f"#c{place}": each.name for place, each in enumerate(finished)}
    as_read = " AND ".join(f"{name} = {name.replace('#', ':')}" for name in names)
    return Update(
        build_shard_key(shard),
        f"SET {', '.join(f'{name} = :finished' for name in names)} ADD #open :less, #done :more",
        f"{as_read} AND (attribute_not_exists(#done) OR #done < :most)",
        {**names, **_NAMES},
        {
            **{f":c{place}": each.value for place, each in enumerate(finished)},
            ":finished": done.value,
            ":less": attributes.to_value(-len(finished)),
            ":more": attributes.to_value(len(finished)),
            ":most": attributes.to_value(MAX_DONE_CLAIMS),
        },
    )


def expire_claims_update(shard: str, done: Sequence[Claim]) -> Update:
    """Remove claims that have been done for long, if they are all as read; at most 100."""
    names = {f"#c{place}": claim.name for place, claim in enumerate(done)}
    values = {f":c{place}": claim.value for place, claim in enumerate(done)}
    return Update(
        build_shard_key(shard),
        f"REMOVE {', '.join(names)} ADD #done :less",
        " AND ".join(f"#c{place} = :c{place}" for place in range(len(done))),
        {**names, "#done": "done"},
        {**values, ":less": attributes.to_value(-len(done))},
    )


def unlist_shard_update(shard: str, now: dt.datetime) -> Update:
    """Take a shard out of the redrive's list, and let its item expire, if no claim is open."""
    return Update(
        build_shard_key(shard),
        "REMOVE GSI2PK, GSI2SK, held SET #ttl = :ttl",
        "#open = :none AND attribute_exists(held)",
        {"#open": "open", "#ttl": "ttl"},
        {
            ":none": {"N": "0"},
            ":ttl": attributes.to_value(int((now + SHARD_ITEM_RETENTION).timestamp())),
        },
    )


def render_heartbeat(name: HeartbeatName) -> str:
    """The attribute of the first heartbeat of a name."""
    return keys.render(_HEARTBEAT, name.run, name.entity)


def _read_heartbeats(image: Image) -> dict[HeartbeatName, str]:
    prefix = keys.render_prefix(_HEARTBEAT)
    names = {name: keys.parse(name) for name in image if name.startswith(prefix)}
    return {HeartbeatName(parts[1], parts[2]): image[name]["S"] for name, parts in names.items()}


def _generation(record: StreamRecord) -> int:
    """The newest generation of the record's images; 0 if it cannot be read."""
    images = (image for image in (record.old, record.new) if image is not None)
    numbers = (image.get("gen", {}).get("N", "") for image in images)
    return max((int(number) for number in numbers if number.isdecimal()), default=0)

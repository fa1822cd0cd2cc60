"""The kinds of faults that the schedules of the proof consist of, each with a description."""

from __future__ import annotations

from collections.abc import Mapping

from daicho.testing import FAULT_KINDS

PROOF_FAULT_KINDS: Mapping[str, str] = {
    **FAULT_KINDS,
    "shard retired": "a closed shard is retired, once a child of it has begun",
    "slot folded early": "a slot of a retired shard is folded long before 72 hours",
    "late after retirement": "a repeat, a zombie, a redrive or earlier code of a retired shard",
    "filter spread": "a new event filter comes into use shard by shard, up to 90 seconds later",
    "dropped by the old filter": "a filter drops records of an entity that it does not know",
    "release abandoned": "a release ends between two of its steps, or in one of them",
    "shorter ledger": "a ledger is released that lacks a generation of the one before",
    "code rolled back": "earlier code is deployed with the newer ledger",
    "API versions at once": "function instances of two releases write and read at the same time",
    "rebuild": "old items are touched while everything else continues",
    "rebuild killed": "a step of a rebuild is killed, or continues as a zombie",
    "row damaged": "a row or a tombstone is deleted, moved, added, or gets another number by hand",
    "run complete": "a run has written all rows again while everything else continues",
    "chosen redrive": "a redrive of chosen records, as a job in steps or in one call",
    "callers at once": "several requests to the API write at the same time; one may end early",
    "second stream": "the stream is disabled and enabled, and numbers anew",
    "outage": "for hours the deployed code does not know the generation that is written",
    "long pause": "20 to 24 hours or many days pass, and then copies arrive or items expire",
}
"""The kinds of any project's schedules, and those that only profiles of the proof have."""

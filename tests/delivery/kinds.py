"""The kinds of faults that schedules are made of, in words."""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "late repeat": "records that were handled come again, late and out of order",
    "other boundaries": "a batch that failed comes again cut in another way",
    "zombie": "an attempt that Lambda has given up goes on writing",
    "killed": "an attempt is ended where it stands",
    "timeout": "a slow attempt is cut by its timeout",
    "crash before": "the process ends before an operation",
    "crash after": "the process ends right after a write",
    "lost response": "a write is done, and nobody is told",
    "repeated request": "the SDK sends a write once more",
    "throttled table": "all requests are throttled for a while",
    "throttled key": "the requests of one partition key are throttled for a while",
    "server error": "a store answers with an error of its own",
    "unprocessed": "a batch is done in part",
    "short page": "a page of a query ends before its time",
    "conflict": "another transaction is at the item, another creation at the object",
    "slow": "an operation takes 20 to 400 seconds",
    "lag": "an index, or a read that asks for no consistency, shows the past",
    "split": "a shard goes on as two",
    "shard rolled": "a shard goes on as one",
    "TTL removal": "DynamoDB's TTL process removes a base item",
    "TTL race": "... of which a change is still to be handled",
    "tombstone expired": "... or a tombstone",
    "deploy": "the code changes between two attempts, forward or back",
    "newer generation": "an attempt meets an image that its code is too old for",
    "poison": "a record that an attempt's code cannot compute",
    "deadline": "a record that takes too long, now and then",
    "killer": "a record that ends the process, after no, some or all writes",
    "poison and killer": "a record that is either of the two, now and then",
    "discard": "the mapping gives records up",
    "redrive under way": "a redrive at the same time as all else",
    "two redrives at once": "... and a second one",
    "redrive ended": "a redrive that is ended half-way",
    "rollup under way": "a rollup at the same time as all else",
    "live reading": "somebody sums a tally's slots while they are folded",
    "hours": "hours pass, and records get too old for the mapping",
    "days": "days pass: idle slots are folded, numbers are forgotten",
}

"""The names of objects for which something is granted are those that are written and read.

`test_called_actions` compares what is granted with the calls in the source of all functions.
"""

from daicho.cdk.functions import grants
from daicho.stream.claims import render_payload_name
from daicho.stream.failed_batch import DONE_PREFIX
from daicho.stream.failed_batch import ON_FAILURE_PREFIX as DISCARDED
from daicho.stream.journal import JOURNAL_PREFIX

QUARANTINED = "quarantine/"


def test_the_projector_may_write_payloads_and_its_journal() -> None:
    payloads, journal = grants.PROJECT.failures
    assert render_payload_name("shard", "label#1").startswith(payloads.removesuffix("*"))
    assert journal.removesuffix("*") == JOURNAL_PREFIX


def test_redrive_moves_what_it_has_applied() -> None:
    waiting = {QUARANTINED: {"GetObject", "DeleteObject"}, DISCARDED: {"GetObject", "DeleteObject"}}
    moved = {DONE_PREFIX: {"PutObject"}}
    granted = {prefix: set(actions) for prefix, actions in grants.REDRIVE.failures.items()}
    assert granted == {f"{prefix}*": actions for prefix, actions in (waiting | moved).items()}
    assert grants.REDRIVE.failure_bucket == ("ListBucket",)

"""What is granted on each bucket is what is called on it.

The parts that write or read one bucket alone say what they need of it as a protocol, and mypy holds
them to it. `test_called_actions` finds the calls of all functions in their source: all that they
call on the table, and the sum of what they call on the buckets.
"""

import importlib

from daicho.cdk.functions import grants
from daicho.stream.claims import render_payload_name
from daicho.stream.failed_batch import DONE_PREFIX
from daicho.stream.failed_batch import ON_FAILURE_PREFIX as DISCARDED
from daicho.stream.journal import JOURNAL_PREFIX

QUARANTINED = "quarantine/"
ACTIONS = {
    "create": "PutObject",
    "get_metadata": "GetObject",
    "fetch": "GetObject",
    "list_objects": "ListBucket",
    "list_versions": "ListBucketVersions",
    "replace": "PutObject",
    "remove_versions": "DeleteObjectVersion",
}
ALSO = {"DeleteObjectVersion": "DeleteObject"}
"""An action that S3 wants in addition (S3 API, DeleteObjects)."""


def needed(protocol: str) -> set[str]:
    """The actions behind the methods of a bucket's protocol; ``module:name``."""
    module, name = protocol.split(":")
    found = getattr(importlib.import_module(module), name)
    methods = {each for each in dir(found) if each[0] != "_" and callable(getattr(found, each))}
    actions = {ACTIONS[method] for method in methods}
    return actions | {ALSO[action] for action in actions & set(ALSO)}


def test_the_rollup_lists_the_failure_bucket() -> None:
    assert grants.ROLLUP.failure_bucket == ("ListBucket",)
    assert not (grants.ROLLUP.archive_bucket or grants.ROLLUP.object_bucket)


def test_the_archive_is_granted_what_it_needs_of_the_bucket() -> None:
    needs = needed("daicho.archive.chain_writer:ArchiverBucket")
    assert set(grants.ARCHIVE.archive) == needs


def test_the_projector_is_granted_what_it_needs_to_set_poison_aside() -> None:
    payloads, journal = grants.PROJECT.failures
    assert render_payload_name("shard", "label#1").startswith(payloads.removesuffix("*"))
    assert journal.removesuffix("*") == JOURNAL_PREFIX
    needs = needed("daicho.stream.quarantine:QuarantineBucket")
    assert set(grants.PROJECT.failures[payloads]) == needs
    assert set(grants.PROJECT.failures[journal]) == needs


def test_the_audit_is_granted_what_it_needs_and_changes_no_object() -> None:
    needs = needed("daicho.archive.reader:ArchiveReaderBucket")
    assert {*grants.AUDIT.archive, *grants.AUDIT.archive_bucket} == needs
    assert grants.AUDIT.archive_bucket == ("ListBucket",)
    # The chains of a day are listed through the index of postings.
    assert grants.AUDIT.indexes == {"GSI2": ("Query",)}


def test_forgetting_is_granted_what_it_needs_of_the_archive_and_nothing_elsewhere() -> None:
    needs = needed("daicho.archive.forgetter:ForgetterBucket")
    # An older version is read by an action of its own, and one that is gone is a 404 only to
    # whoever may list.
    more = {"GetObjectVersion", "ListBucket"}
    assert {*grants.FORGET.archive, *grants.FORGET.archive_bucket} == needs | more
    assert set(grants.FORGET.archive_bucket) == {"ListBucket", "ListBucketVersions"}
    assert not (grants.FORGET.indexes or grants.FORGET.failures or grants.FORGET.objects)


def test_jobs_are_granted_what_they_need_of_the_archive() -> None:
    needs = needed("daicho.archive.reader:ArchiveReaderBucket")
    assert {*grants.JOBS.archive, *grants.JOBS.archive_bucket} == needs


def test_redrive_moves_what_it_has_applied() -> None:
    waiting = {QUARANTINED: {"GetObject", "DeleteObject"}, DISCARDED: {"GetObject", "DeleteObject"}}
    moved = {DONE_PREFIX: {"PutObject"}}
    granted = {prefix: set(actions) for prefix, actions in grants.REDRIVE.failures.items()}
    assert granted == {f"{prefix}*": actions for prefix, actions in (waiting | moved).items()}
    assert grants.REDRIVE.failure_bucket == ("ListBucket",)


def test_an_index_is_only_queried() -> None:
    every = [each for each in vars(grants).values() if isinstance(each, grants.Grants)]
    assert len(every) > 8
    for each in every:
        assert set(each.indexes) <= set(grants.INDEXES)
        assert set(each.indexes.values()) <= {("Query",)}

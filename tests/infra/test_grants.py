"""What is granted is what is called: no action that nobody uses, no call that would be refused.

Most functions say what they need of the table and the buckets as protocols, and mypy holds them to
it. `test_called_actions` finds the calls of all functions in their source.
"""

import importlib

import pytest

from daicho.cdk.functions import grants
from daicho.stream.claims import render_payload_name
from daicho.stream.failed_batch import DONE_PREFIX
from daicho.stream.failed_batch import ON_FAILURE_PREFIX as DISCARDED

QUARANTINED = "quarantine/"
TABLE = {
    "get": "GetItem",
    "get_attributes": "GetItem",
    "batch_get": "BatchGetItem",
    "query": "Query",
    "query_pages": "Query",
    "put": "PutItem",
    "insert_batch": "PartiQLInsert",
    "update": "UpdateItem",
    "delete": "DeleteItem",
    "batch_write": "BatchWriteItem",
    "scan": "Scan",
}
BUCKET = {
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


def needed(protocol: str, calls: dict[str, str]) -> set[str]:
    """The actions behind the methods of a protocol; ``module:name``.

    Not those of transactions: each is granted by what is in it.
    """
    module, name = protocol.split(":")
    found = getattr(importlib.import_module(module), name)
    methods = {each for each in dir(found) if each[0] != "_" and callable(getattr(found, each))}
    actions = {calls[method] for method in methods - {"transact"}}
    return actions | {ALSO[action] for action in actions & set(ALSO)}


@pytest.mark.parametrize(
    ("protocol", "granted", "transacted"),
    [
        ("daicho.stream.projector:ProjectorTable", grants.PROJECT, {"ConditionCheckItem"}),
        ("daicho.archive.archiver:ArchiverTable", grants.ARCHIVE, set()),
    ],
)
def test_a_stream_function_is_granted_what_it_needs_of_the_table(
    protocol: str, granted: grants.Grants, transacted: set[str]
) -> None:
    assert set(granted.table) == needed(protocol, TABLE) | transacted


def test_the_sweep_is_granted_what_its_two_tasks_need() -> None:
    protocols = ("daicho.sweep:SweepTable", "daicho.rebuild.requests:OlderItemTable")
    needs = {action for protocol in protocols for action in needed(protocol, TABLE)}
    assert set(grants.SWEEP.table) == needs


def test_the_rollup_is_granted_what_its_three_tasks_need() -> None:
    rolling_up = needed("daicho.tally.rollup:RollupTable", TABLE) | {"UpdateItem", "DeleteItem"}
    retiring = needed("daicho.stream.retirement:RetirementTable", TABLE) | {"DescribeTable"}
    watermark = needed("daicho.stream.watermark_job:WatermarkTable", TABLE)
    assert set(grants.ROLLUP.table) == rolling_up | retiring | watermark
    assert grants.ROLLUP.failure_bucket == ("ListBucket",)


def test_the_archive_is_granted_what_it_needs_of_the_bucket() -> None:
    assert set(grants.ARCHIVE.archive) == needed("daicho.archive.archiver:ArchiverBucket", BUCKET)


def test_the_projector_is_granted_what_it_needs_to_set_poison_aside() -> None:
    (prefix,) = grants.PROJECT.failures
    assert render_payload_name("shard", "label#1").startswith(prefix.removesuffix("*"))
    needs = needed("daicho.stream.quarantine:QuarantineBucket", BUCKET)
    assert set(grants.PROJECT.failures[prefix]) == needs
    assert needed("daicho.stream.quarantine:ClaimTable", TABLE) <= set(grants.PROJECT.table)


def test_the_audit_is_granted_what_it_needs_and_changes_no_object() -> None:
    assert set(grants.AUDIT.table) == needed("daicho.archive.audit:AuditTable", TABLE)
    needs = needed("daicho.archive.reader:ArchiveReaderBucket", BUCKET)
    assert {*grants.AUDIT.archive, *grants.AUDIT.archive_bucket} == needs
    assert grants.AUDIT.archive_bucket == ("ListBucket",)
    # The chains of a day are listed through the index of postings.
    assert grants.AUDIT.indexes == {"GSI2": ("Query",)}


def test_forgetting_is_granted_what_it_needs_of_the_archive_and_nothing_elsewhere() -> None:
    assert set(grants.FORGET.table) == needed("daicho.archive.forget_schedule:ForgetTable", TABLE)
    needs = needed("daicho.archive.forgetter:ForgetterBucket", BUCKET)
    # An older version is read by an action of its own, and one that is gone is a 404 only to
    # whoever may list.
    more = {"GetObjectVersion", "ListBucket"}
    assert {*grants.FORGET.archive, *grants.FORGET.archive_bucket} == needs | more
    assert set(grants.FORGET.archive_bucket) == {"ListBucket", "ListBucketVersions"}
    assert not (grants.FORGET.indexes or grants.FORGET.failures or grants.FORGET.objects)


def test_a_release_is_granted_what_it_needs() -> None:
    protocols = (
        "daicho.release.release:ReleaseStore",
        "daicho.stream.heartbeat_watcher:HeartbeatTable",
        "daicho.rebuild.requests:StartTable",
    )
    needs = {action for protocol in protocols for action in needed(protocol, TABLE)}
    # The transaction of a release checks that it is the one that was checked last.
    assert set(grants.RELEASE.table) == needs | {"DescribeTable", "ConditionCheckItem"}


def test_jobs_are_granted_what_they_need() -> None:
    protocols = ("daicho.tenants.deletion:DeletionTable", "daicho.rebuild.rebuild:RebuildTable")
    needs = {action for protocol in protocols for action in needed(protocol, TABLE)}
    # A copy that is left is deleted in a transaction that checks its item.
    left_copies = {"DeleteItem", "ConditionCheckItem"}
    assert set(grants.JOBS.table) == needs | {"DescribeTable"} | left_copies
    archive = needed("daicho.archive.reader:ArchiveReaderBucket", BUCKET)
    assert {*grants.JOBS.archive, *grants.JOBS.archive_bucket} == archive


def test_redrive_is_granted_what_it_needs_and_moves_what_it_has_applied() -> None:
    transacted = {"PutItem", "UpdateItem", "ConditionCheckItem"}
    assert (
        set(grants.REDRIVE.table)
        == needed("daicho.redrive.redrive:RedriveStore", TABLE) | transacted
    )
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

"""The permissions: every permission of a function, except for its own logs and traces.

This is the one list. The constructs turn it into policies, and tests compare it with the
template. No action holds a wildcard. Scan is granted to two functions: a leading-keys condition
would hold vacuously for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

INDEXES = ("GSI1", "GSI2", "GSI3")


@dataclass(frozen=True, kw_only=True)
class Grants:
    """The actions of one function, without their service prefix.

    ``table`` and ``indexes`` are DynamoDB's, ``archive`` are S3's on the archive bucket's
    objects, ``failures`` on those of the failure bucket, by the beginning of their names, and
    ``failure_bucket`` and ``archive_bucket`` on those buckets themselves. ``objects`` are on the
    objects of items, of all tenants, ``object_bucket`` on their bucket. ``stream``: reads the
    table's stream; with this function's role Lambda writes discarded records into the failure
    bucket. ``leading_keys``: how the partition keys begin
    that the actions on the table and its indexes may name; empty for all.
    """

    table: tuple[str, ...]
    indexes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    archive: tuple[str, ...] = ()
    failures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failure_bucket: tuple[str, ...] = ()
    archive_bucket: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    object_bucket: tuple[str, ...] = ()
    stream: bool = False
    leading_keys: str = ""


REMOVE_VERSIONS = ("DeleteObject", "DeleteObjectVersion")
"""S3 wants both: the first one always, the second one for a version (S3 API, DeleteObjects)."""

# A transaction is granted by what is in it; a check of what is only read has an action of its own.
# BatchWriteItem is for versions that are forgotten, and for sections. An object that is removed is
# removed with all its versions. Who holds a URL that the API has signed may do what the API may,
# with that one object: so it may get and put. Administrators of tenants read the archive.
API = Grants(
    table=(
        *("GetItem", "BatchGetItem", "Query"),
        *("PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "BatchWriteItem"),
    ),
    indexes=dict.fromkeys(INDEXES, ("Query",)),
    archive=("GetObject",),
    archive_bucket=("ListBucket",),
    objects=("GetObject", "PutObject", *REMOVE_VERSIONS),
    object_bucket=("ListBucketVersions",),
)
# Sections that nobody sees, and objects whose items are gone. A rebuild is requested by a put.
SWEEP = Grants(
    table=("GetItem", "Query", "PutItem", "BatchWriteItem", "DeleteItem"),
    indexes={"GSI2": ("Query",)},
    objects=REMOVE_VERSIONS,
    object_bucket=("ListBucketVersions",),
)
# A payload is written once, and its writer never reads it. The table is read for totals that are
# rolled up at once. A batch of statements is granted by what is in it: derived items are inserted.
# An older generation is noted on condition that an item has it. The journal of a verification is
# written like a payload.
PROJECT = Grants(
    table=("GetItem", "Query", "PutItem", "PartiQLInsert", "UpdateItem", "ConditionCheckItem"),
    failures={"quarantine/*": ("PutObject",), "journal/*": ("PutObject",)},
    stream=True,
)
# A total is put. DeleteItem is for slots that are folded, in a transaction: it is granted by what
# is in it. A batch is of shard items or heartbeats, and the table's description names its stream.
# The failure bucket is listed, because figures do not include what is in it.
ROLLUP = Grants(
    table=(
        *("GetItem", "BatchGetItem", "Query", "DescribeTable"),
        *("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"),
    ),
    indexes={"GSI2": ("Query",)},
    failure_bucket=("ListBucket",),
)
# GetObject is for HEAD: the metadata of the existing link at the place of a new one.
ARCHIVE = Grants(table=("UpdateItem",), archive=("PutObject", "GetObject"), stream=True)
# A transaction is granted by what is in it; what was applied is copied to done/ and then deleted.
# What the archive lacks is appended to its chains, or laid beside the link that spans it.
# A dismissal sends heartbeats, and reads the shards that they have passed.
REDRIVE = Grants(
    table=(
        *("GetItem", "BatchGetItem", "Query", "DescribeTable"),
        *("PutItem", "UpdateItem", "ConditionCheckItem", "BatchWriteItem"),
    ),
    indexes={"GSI2": ("Query",)},
    failures={
        "quarantine/*": ("GetObject", "DeleteObject"),
        "aws/lambda/*": ("GetObject", "DeleteObject"),
        "done/*": ("PutObject",),
    },
    failure_bucket=("ListBucket",),
    archive=("PutObject", "GetObject"),
    archive_bucket=("ListBucket",),
)

# Reads the archive, and saves its progress.
AUDIT = Grants(
    table=("GetItem", "Query", "PutItem"),
    indexes={"GSI2": ("Query",)},
    archive=("GetObject",),
    archive_bucket=("ListBucket",),
)

# Rewrites objects without a tenant's rows, and removes older versions of them. The right to
# list distinguishes a missing object from one that the function may not read.
FORGET = Grants(
    table=("Query", "UpdateItem"),
    archive=("GetObject", "GetObjectVersion", "PutObject", *REMOVE_VERSIONS),
    archive_bucket=("ListBucket", "ListBucketVersions"),
)

# It may Scan: nothing else shows all that is a tenant's, or of an older generation. It cuts a
# tenant's records out of what was set aside, in every version of it. It reads the archive for
# aggregates that count expired items. It deletes items as the API does. A transaction is granted by
# what is in it: it touches an item and its reservations. What a verification reads it keeps beside
# the journal.
_OF_VERSIONS = ("GetObject", "GetObjectVersion", *REMOVE_VERSIONS)
JOBS = Grants(
    table=(
        *("GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable"),
        *("PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "BatchWriteItem"),
    ),
    indexes={"GSI2": ("Query",)},
    failures={
        "quarantine/*": _OF_VERSIONS,
        "aws/lambda/*": (*_OF_VERSIONS, "PutObject"),
        "done/*": (*_OF_VERSIONS, "PutObject"),
        "verify/*": ("GetObject", "PutObject"),
        "journal/*": ("GetObject", "PutObject"),
    },
    failure_bucket=("ListBucket", "ListBucketVersions"),
    archive=("GetObject",),
    archive_bucket=("ListBucket",),
    objects=REMOVE_VERSIONS,
    object_bucket=("ListBucketVersions",),
)
# Scan is for one item: whether the table is empty. A batch is of heartbeats, and of the shards that
# they have passed. A record is on condition that no other release was checked since.
RELEASE = Grants(
    table=(
        *("GetItem", "BatchGetItem", "Query", "Scan", "DescribeTable"),
        *("PutItem", "UpdateItem", "ConditionCheckItem", "BatchWriteItem"),
    ),
)
# Reads what was set aside, and what the stack stores about its own work; writes jobs and its log.
# The keys of the stack's own items begin with the delimiter: no tenant has an empty name. So this
# function reaches no item of a tenant, in the table or in an index.
OPS = Grants(
    table=("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem"),
    indexes={"GSI2": ("Query",)},
    failures=dict.fromkeys(("quarantine/*", "aws/lambda/*", "verify/*"), ("GetObject",)),
    failure_bucket=("ListBucket",),
    leading_keys="#*",
)
# Its answer follows from the event.
TOKENS = Grants(table=())
# A subscriber writes items as the API does, and reads no archive. It reads its queue, and may do
# what its decorator declares: see `daicho.cdk.functions.events`.
SUBSCRIBE = replace(API, archive=(), archive_bucket=())
# It reads its queue, and puts on the bus: see `daicho.cdk.functions.events`.
PUBLISH = Grants(table=())
QUEUE_SEND = ("SendMessage",)
QUEUE_READ = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
BUS_PUT = ("PutEvents",)
STREAM_DESCRIBE = ("DescribeStream",)
MAPPING_READ = ("GetEventSourceMapping",)
STACK_DESCRIBE = ("DescribeStacks",)  # whether an update is rolled back
START = ("StartExecution",)  # the API and the sweep start jobs, and nothing else
INVOKE = ("InvokeFunction",)  # operators start an audit

# What a state machine needs to deliver its log and its traces; they know no resource but "*".
MACHINE = (
    *("logs:CreateLogDelivery", "logs:GetLogDelivery", "logs:UpdateLogDelivery"),
    *("logs:DeleteLogDelivery", "logs:ListLogDeliveries", "logs:PutResourcePolicy"),
    *("logs:DescribeResourcePolicies", "logs:DescribeLogGroups"),
    *("xray:PutTraceSegments", "xray:PutTelemetryRecords"),
    *("xray:GetSamplingRules", "xray:GetSamplingTargets"),
)

STREAM_READ = ("DescribeStream", "GetRecords", "GetShardIterator")
STREAM_LIST = ("ListStreams",)  # knows no resource but "*"
# Lambda names its objects aws/lambda/…, but AWS does not document which object ARN Lambda checks
# when an event source mapping is created. A refused mapping fails the deployment.
DISCARDED = "*"
FAILURE_OBJECTS = ("PutObject",)
FAILURE_BUCKET = ("ListBucket",)  # Lambda requires it before it uses an on-failure bucket

# What a caller needs to use a table, or to write objects, under a key of the customer.
KEY = ("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey")

"""The archive as a table for queries: Glue's description of it, an Athena workgroup, saved queries.

No crawler runs: partitions follow from the names of the objects, and are projected (AWS: "Use
partition projection with Amazon Athena"). A query that names entity and day lists and reads that
folder alone.

Each ``?`` of a saved query requires a value when it runs (AWS: "Use parameterized queries").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_athena as athena
from aws_cdk import aws_glue as glue
from aws_cdk import aws_s3 as s3
from constructs import Construct

from daicho.cdk.functions.python_function import SharedResources
from daicho.plan import Ledger

TABLE = "archive"


@dataclass(frozen=True)
class SavedQuery:
    """One query. ``id`` is its place in the stack, ``name`` what a person sees."""

    id: str
    name: str
    description: str
    sql: str


QUERIES = (
    SavedQuery(
        id="TenantsRows",
        name="A tenant's rows of a period",
        description="Parameters: entity, first day, last day (2026-11-21), tenant",
        sql="""SELECT deleted_at, seq, raw, item
FROM archive
WHERE entity = ? AND dt BETWEEN ? AND ? AND tenant = ?
ORDER BY deleted_at, seq
""",
    ),
    SavedQuery(
        id="HistoryOfAKey",
        name="The history of a key",
        description="Parameters: entity, first day, last day, partition key, sort key",
        sql="""SELECT deleted_at, seq, raw, item
FROM archive
WHERE entity = ? AND dt BETWEEN ? AND ?
  AND json_extract_scalar(item, '$.PK.S') = ?
  AND json_extract_scalar(item, '$.SK.S') = ?
ORDER BY deleted_at, seq
""",
    ),
    SavedQuery(
        id="DeletionsADay",
        name="Deletions a day, by entity and tenant",
        description="Parameters: first day, last day",
        sql="""SELECT dt, entity, tenant, count(*) AS deletions, count_if(raw) AS not_readable
FROM archive
WHERE dt BETWEEN ? AND ?
GROUP BY dt, entity, tenant
ORDER BY dt, entity, tenant
""",
    ),
)


# A row as `daicho.archive.row_format` writes it, without its entity: that is a partition. The item
# is DynamoDB's JSON as text: its attributes differ from row to row (`json_extract_scalar`).
COLUMNS = {
    "tenant": ("string", "Whose the item was"),
    "gen": ("int", "The generation of its entity's declarations; null if it says none"),
    "deleted_at": ("string", "When DynamoDB deleted it, UTC; from_iso8601_timestamp reads it"),
    "seq": ("string", "Its number in the table's stream, with the stream's label"),
    "raw": ("boolean", "True if its model could not read it: it is as it was all the same"),
    "item": ("string", "The item, in DynamoDB's own JSON"),
}
PARTITIONS = {
    "entity": ("string", "The entity, as declared"),
    "dt": ("string", "The day of deletion, UTC: yyyy-MM-dd"),
}
# A query without days lists every projected day: nothing is older than the first release.
FIRST_DAY = "2026-01-01"

# Attribute names are case-sensitive. A line that is no JSON becomes a row of nulls, which
# `daicho archive verify` names, instead of the end of every query over its partition.
SERDE = {"case.insensitive": "FALSE", "ignore.malformed.json": "TRUE"}
TEXT_INPUT = "org.apache.hadoop.mapred.TextInputFormat"
TEXT_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"


class ArchiveCatalog(Construct):
    """A database with one table, and the only workgroup that is intended for its queries."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        ledger: Ledger,
        shared: SharedResources,
    ) -> None:
        """Describe the objects of the archive."""
        super().__init__(scope, id)
        settings, archive = shared.settings, shared.buckets.archive
        self.table_name = TABLE
        database = glue.CfnDatabase(
            self,
            "Database",
            catalog_id=Aws.ACCOUNT_ID,
            database_input=glue.CfnDatabase.DatabaseInputProperty(
                name=f"{settings.name}_{settings.stage}".lower(),
                description=f"{settings.title}: what TTL has deleted",
            ),
        )
        self.database_name = database.ref
        self.table = self._create_table(archive, ledger)
        self.workgroup_name = self._create_workgroup(shared).ref
        if not settings.is_local:  # the local AWS has none
            for query in QUERIES:
                athena.CfnNamedQuery(
                    self,
                    query.id,
                    name=query.name,
                    description=query.description,
                    query_string=query.sql,
                    database=self.database_name,
                    work_group=self.workgroup_name,
                )

    def _create_table(self, archive: s3.Bucket, ledger: Ledger) -> glue.CfnTable:
        return glue.CfnTable(
            self,
            "Table",
            catalog_id=Aws.ACCOUNT_ID,
            database_name=self.database_name,
            table_input=glue.CfnTable.TableInputProperty(
                name=TABLE,
                description="A row for each item that expired, by entity and day of deletion",
                table_type="EXTERNAL_TABLE",
                parameters=_parameters(archive, ledger),
                partition_keys=[_column(name, *kind) for name, kind in PARTITIONS.items()],
                storage_descriptor=_storage(archive),
            ),
        )

    def _create_workgroup(self, shared: SharedResources) -> athena.CfnWorkGroup:
        workgroup = athena.CfnWorkGroup(
            self,
            "Workgroup",
            name=shared.settings.full_name,
            description="The archive; answers are kept for some days only",
            # Its history and its saved queries; no data.
            recursive_delete_option=True,
            work_group_configuration=_configuration(shared),
        )
        workgroup.apply_removal_policy(RemovalPolicy.DESTROY)
        return workgroup


def _column(name: str, kind: str, comment: str) -> glue.CfnTable.ColumnProperty:
    return glue.CfnTable.ColumnProperty(name=name, type=kind, comment=comment)


def _parameters(archive: s3.Bucket, ledger: Ledger) -> dict[str, Any]:
    """How partitions are projected.

    The entities are those that any generation has archived, so a query that names none finds
    them all.
    """
    return {
        "EXTERNAL": "TRUE",
        "classification": "json",
        "compressionType": "gzip",
        "projection.enabled": "true",
        "projection.entity.type": "enum",
        "projection.entity.values": ",".join(ledger.archived_types or ("none",)),
        "projection.dt.type": "date",
        "projection.dt.format": "yyyy-MM-dd",
        "projection.dt.interval": "1",
        "projection.dt.interval.unit": "DAYS",
        # The clock of the caller may be behind the clock of the deletion.
        "projection.dt.range": f"{FIRST_DAY},NOW+1DAY",
        "storage.location.template": archive.s3_url_for_object("entity=${entity}/dt=${dt}/"),
    }


def _storage(archive: s3.Bucket) -> glue.CfnTable.StorageDescriptorProperty:
    return glue.CfnTable.StorageDescriptorProperty(
        location=archive.s3_url_for_object(""),
        columns=[_column(name, *kind) for name, kind in COLUMNS.items()],
        compressed=True,
        input_format=TEXT_INPUT,
        output_format=TEXT_OUTPUT,
        serde_info=glue.CfnTable.SerdeInfoProperty(
            serialization_library="org.openx.data.jsonserde.JsonSerDe", parameters=SERDE
        ),
    )


def _configuration(shared: SharedResources) -> athena.CfnWorkGroup.WorkGroupConfigurationProperty:
    key = shared.key
    encryption = athena.CfnWorkGroup.EncryptionConfigurationProperty(
        encryption_option="SSE_KMS" if key else "SSE_S3", kms_key=key.key_arn if key else None
    )
    return athena.CfnWorkGroup.WorkGroupConfigurationProperty(
        # Clients cannot override this: an answer elsewhere is not encrypted and does not expire.
        enforce_work_group_configuration=True,
        bytes_scanned_cutoff_per_query=shared.settings.query_gigabytes * 1_000_000_000,
        publish_cloud_watch_metrics_enabled=True,
        requester_pays_enabled=False,
        engine_version=athena.CfnWorkGroup.EngineVersionProperty(
            selected_engine_version="Athena engine version 3"
        ),
        result_configuration=athena.CfnWorkGroup.ResultConfigurationProperty(
            output_location=shared.buckets.results.s3_url_for_object("answers/"),
            encryption_configuration=encryption,
            expected_bucket_owner=Aws.ACCOUNT_ID,
        ),
    )

"""The stack of a project of its own, which has the entities of one file and no others."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mypy_boto3_dynamodb import DynamoDBClient

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from tests.console.stack import ConsoleStack
from tests.support.dynoxide import create_table

PACKAGE = "own_domains"


@contextmanager
def serve_own_project(
    endpoint: str, dynamodb: DynamoDBClient, folder: Path, source: Path
) -> Iterator[ConsoleStack]:
    """Serve the domain of the file ``source``, which is copied to a package in ``folder``."""
    package = folder / PACKAGE
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(source, package)
    name = create_table(dynamodb)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        patch.setenv("POWERTOOLS_TRACE_DISABLED", "true")
        patch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Daicho")
        try:
            discovered = Daicho.discover(importlib.import_module(PACKAGE))
            ledger = discovered.append_generations(Ledger())
            with ConsoleStack(
                endpoint, dynamodb, name, ledger=ledger, DOMAIN_PACKAGE=PACKAGE
            ) as served:
                yield served
        finally:
            dynamodb.delete_table(TableName=name)
            for loaded in [each for each in sys.modules if each.partition(".")[0] == PACKAGE]:
                del sys.modules[loaded]
    assert served.errors == []

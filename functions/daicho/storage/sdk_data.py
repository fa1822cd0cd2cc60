"""The data that botocore makes its clients of, read in half of its time.

Deviation from the library, for the start of the functions (ADR 0158): botocore reads each JSON file
into ordered dictionaries, although all dictionaries keep their order. It also lists the folders of
more than four hundred services to find out whether there is one of the name.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.loaders import JSONFileLoader, Loader

if TYPE_CHECKING:
    from botocore.session import Session

SERVICES = frozenset(
    {
        *("cloudformation", "cloudwatch", "dynamodb", "dynamodbstreams"),
        *("events", "lambda", "logs", "s3", "sqs", "stepfunctions"),
    }
)
"""All services that the library calls. Sources of credentials, such as STS, call others."""
_DECODERS: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    (".json", bytes),
    (".json.gz", gzip.decompress),
)


class _PlainLoader(JSONFileLoader):
    def load_file(self, file_path: str) -> Any:
        """The content of a file whose name is given without its extension; None without one."""
        for extension, decode in _DECODERS:
            path = Path(file_path + extension)
            if path.is_file():
                return json.loads(decode(path.read_bytes()))
        return None


class _OwnServicesLoader(Loader):
    """Knows the services that the library calls; lists the folders for the names of others."""

    lists_folders = False

    def load_service_model(
        self, service_name: str, type_name: str, api_version: str | None = None
    ) -> Any:
        """The data of a service."""
        self.lists_folders |= service_name not in SERVICES
        return super().load_service_model(service_name, type_name, api_version)

    def list_available_services(self, type_name: str) -> list[str]:
        """The names that botocore accepts."""
        if self.lists_folders:
            return super().list_available_services(type_name)
        return sorted(SERVICES)


def make_loader(session: Session) -> Loader:
    """The loader for a session, which also reads the folders of ``AWS_DATA_PATH`` if it is set."""
    folders = (session.get_config_variable("data_path") or "").split(os.pathsep)
    paths = [os.path.expandvars(Path(folder).expanduser()) for folder in folders if folder]
    return _OwnServicesLoader(extra_search_paths=paths, file_loader=_PlainLoader())

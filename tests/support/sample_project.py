"""The project of the sample domains: its generations, and where its files are."""

from __future__ import annotations

import json
from pathlib import Path

from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho.plan.lockfile import write_lock_file
from tests.support import sample_domains
from tests.support.described_routes import DescribedRoutes
from tests.support.repository import ROOT

DOMAIN_PACKAGE = sample_domains.__name__
DAICHO = Daicho.discover(sample_domains)
LEDGER = DAICHO.append_generations(Ledger())
"""Generation 1 of every entity."""
SAMPLE_ROUTES = DescribedRoutes(
    DAICHO,
    LEDGER,
    needing=frozenset(
        {
            "checkout_cart",
            "create_contact_call",
            "create_song_download",
            "add_contact_category",
            "put_poll_vote",
        }
    ),
    first_words=("carts", "contacts", "documents", "manuals", "polls"),
)
_CONFIGURATION = f"""[tool.daicho]
name = "Sample"
source = "{ROOT}"
domains = "{DOMAIN_PACKAGE}"
"""


def write_project(folder: Path) -> Path:
    """Make ``folder`` the project's own: commands that are started in it work for it."""
    (folder / "pyproject.toml").write_text(_CONFIGURATION, "utf-8")
    write_lock_file(LEDGER, folder / "generations.json")
    return folder


def describe_stack(folder: Path, table: str, endpoint: str, **more: str) -> Path:
    """Write the file that describes a local stack with this table; returns its path.

    ``more``: other values of the file.
    """
    stack = folder / "stack.json"
    described = {
        **{"table": table, "endpoint": endpoint, "region": "us-east-1"},
        "job_machine": "arn:aws:states:::jobs",
        **more,
    }
    stack.write_text(json.dumps(described), "utf-8")
    return stack

"""The templates as committed: a change of infrastructure shows in review, line by line.

They are synthesised from a plan of their own, so that declaring an entity changes none of them.
``python -m pytest tests/infra --snapshot`` writes them anew.
"""

import json
import re
from pathlib import Path

import pytest

from tests.infra.synthesis import Synthesis

FOLDER = Path(__file__).parent / "snapshots"
ASSET = re.compile(r"\b[0-9a-f]{64}\b")


def normalised(stage: Synthesis) -> str:
    """As text, with the hashes of assets taken out: they change with every line of code."""
    text = json.dumps(stage.template, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    return ASSET.sub("<asset>", text)


def test_the_template_is_as_committed(on_aws: Synthesis, request: pytest.FixtureRequest) -> None:
    path = FOLDER / f"{on_aws.name}.json"
    found = normalised(on_aws)
    if request.config.getoption("--snapshot", default=False):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found)
    assert path.read_text() == found, "the template has changed: look, then run pytest --snapshot"


def test_assets_do_not_reach_the_snapshot(on_aws: Synthesis) -> None:
    assert ASSET.search(json.dumps(on_aws.template))
    assert not ASSET.search(normalised(on_aws))

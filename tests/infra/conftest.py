"""The stages, synthesised once a run."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

# jsii starts `node` from the PATH; the pinned one stands beside this Python. It must be said
# before anything imports aws_cdk, so the modules of this folder import it inside.
NODE = Path(sys.executable).parent / "node"
if NODE.exists():
    os.environ.setdefault("JSII_NODE", str(NODE))
os.environ.setdefault("JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION", "1")

from tests.infra.synthesis import (  # noqa: E402
    LEDGER,
    OPTIONS,
    OWN_ISSUER,
    Synthesis,
    synthesise,
)

STAGES = ("local", "dev", "prod")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--snapshot", action="store_true", help="write the template snapshots instead of comparing"
    )


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    return synthesise("local", tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="session")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    return synthesise("dev", tmp_path_factory.mktemp("dev"))


@pytest.fixture(scope="session")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    return synthesise("prod", tmp_path_factory.mktemp("prod"))


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    """Production with every option that adds something.

    Machines, browsers of other origins, a host name with its record, and a key of its own.
    """
    return synthesise("prod", tmp_path_factory.mktemp("opened"), **OPTIONS)


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    """A stage whose tokens are those of the team's own issuer.

    The table has bought throughput.
    """
    return synthesise("dev", tmp_path_factory.mktemp("own"), **OWN_ISSUER)


@pytest.fixture(scope="session")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    """Stage local without the console, with faults, after its code was rolled back."""
    folder = tmp_path_factory.mktemp("changed")
    ledger = replace(LEDGER, written={"Song": 1})
    return synthesise("local", folder, ledger=ledger, console=False, faults=0.25)


@pytest.fixture(params=STAGES)
def any_stage(request: pytest.FixtureRequest) -> Synthesis:
    """Each stage in turn."""
    stage: Synthesis = request.getfixturevalue(request.param)
    return stage


@pytest.fixture(params=STAGES[1:])
def on_aws(request: pytest.FixtureRequest) -> Synthesis:
    """Each stage of a real account in turn."""
    stage: Synthesis = request.getfixturevalue(request.param)
    return stage

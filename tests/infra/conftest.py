"""The stages, synthesised once a run."""

import os
import sys
from pathlib import Path

import pytest

# jsii starts `node` from the PATH; the pinned one stands beside this Python. It must be said
# before anything imports aws_cdk, so the modules of this folder import it inside.
NODE = Path(sys.executable).parent / "node"
if NODE.exists():
    os.environ.setdefault("JSII_NODE", str(NODE))
os.environ.setdefault("JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION", "1")

from tests.infra.synthesis import Synthesis, synthesise  # noqa: E402

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
def warm(tmp_path_factory: pytest.TempPathFactory) -> Synthesis:
    """Production with a table whose throughput was bought, and with a replica index."""
    folder = tmp_path_factory.mktemp("warm")
    return synthesise("prod", folder, warm_throughput=True, replica_index=True)


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

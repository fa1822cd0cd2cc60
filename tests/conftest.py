"""What all tests share: settings, marks by folder, time (`long_timeouts`), and a DynamoDB."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from daicho_cli.local.environment import bypass_proxies

# Before anything imports boto3: no test may find a real account, nor depend on what is set for one.
for variable in [name for name in os.environ if name.startswith("AWS_")]:
    del os.environ[variable]
os.environ.update(
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",
    AWS_DEFAULT_REGION="us-east-1",
    AWS_REGION="us-east-1",
    AWS_CONFIG_FILE=os.devnull,
    AWS_SHARED_CREDENTIALS_FILE=os.devnull,
    AWS_EC2_METADATA_DISABLED="true",
)

# Neither a deadline nor a limit for drawing: how fast a machine is says nothing about a test.
settings.register_profile(
    "daicho", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", parent=settings.get_profile("daicho"), max_examples=2_000)
# Of `make check`: the edit loop draws a quarter of what `make property` draws.
settings.register_profile("quick", parent=settings.get_profile("daicho"), max_examples=25)
# Planted faults have only to be found.
settings.register_profile(
    "found", parent=settings.get_profile("daicho"), phases=(Phase.explicit, Phase.generate)
)
# The same examples in each run of CI: a rare one is found by make property, and fails no change
# that it has nothing to do with.
settings.register_profile(
    "ci", parent=settings.get_profile("daicho"), derandomize=True, database=None
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "daicho")
)

# DynamoDB and the local AWS are on this machine, which no proxy can reach.
os.environ.update(bypass_proxies(os.environ))

pytest_plugins = ["tests.support.dynoxide", "tests.support.long_timeouts"]

HERE = Path(__file__).parent
STARTING_PROGRAMS = ("subprocess", "generate_python", "generate_typescript", "run_node")
"""Names by which a module of tests starts other programs."""


def pytest_collection_finish() -> None:
    """Let the garbage collector leave out what is loaded by now.

    The time of a collection counts as processor time of the record that is computed meanwhile, and
    a record that takes over a second is set aside.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by its folder, and those of a module that starts programs.

    A test is ``unit`` in tests/unit and in tests/demonstration/unit.
    """
    for item in items:
        folders = item.path.relative_to(HERE).parts
        item.add_marker(folders[folders[0] == "demonstration"])
        module = item.getparent(pytest.Module)
        if module is not None and any(hasattr(module.obj, name) for name in STARTING_PROGRAMS):
            item.add_marker("programs")

"""Modules of these tests, run in a copy of the code with a fault of ``planted.toml`` in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.delivery.mutants.planted import copy_with_fault, read_planted
from tests.support.planting import Fault


def find_fault(name: str) -> Fault:
    """The planted fault of this name."""
    (fault,) = (fault for fault in read_planted() if fault.name == name)
    return fault


def run_module_in_copy(fault: Fault, module: str, *arguments: str) -> Any:
    """The JSON that a module prints in a copy of the code with a fault in it.

    Raises:
        CannotPlantError: see `Fault.plant`.
        subprocess.CalledProcessError: the module ended with another exit status than 0.
    """
    with copy_with_fault(fault=fault) as copy:
        path = os.pathsep.join((str(copy), str(copy / "functions")))
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            check=True,
        )
    return json.loads(done.stdout)

"""Daicho under test, in memory: a table, its stream and its functions, with faults or without.

A project tests its own declarations with it. Each name is loaded on its first access
(`runtime.lazy_names`), so that the pytest plugin, which pytest loads at every start, loads neither
Pydantic nor botocore.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daicho.runtime.lazy_names import lazy_imports

if TYPE_CHECKING:
    from daicho.testing.aws.event_filters import EventFilters as EventFilters
    from daicho.testing.aws.event_source_mapping import EventSourceMapping as EventSourceMapping
    from daicho.testing.aws.invocations import FunctionFailed as FunctionFailed
    from daicho.testing.aws.invocations import FunctionReturned as FunctionReturned
    from daicho.testing.aws.invocations import Invocation as Invocation
    from daicho.testing.aws.mapping_settings import MappingSettings as MappingSettings
    from daicho.testing.aws.memory_dynamodb import MemoryDynamoDB as MemoryDynamoDB
    from daicho.testing.aws.memory_s3 import MemoryS3 as MemoryS3
    from daicho.testing.aws.stream_recorder import StreamRecorder as StreamRecorder
    from daicho.testing.aws.table_stream import TableStream as TableStream
    from daicho.testing.check import ExactnessError as ExactnessError
    from daicho.testing.check import FaultChecker as FaultChecker
    from daicho.testing.check import FaultReport as FaultReport
    from daicho.testing.check import check_under_faults as check_under_faults
    from daicho.testing.clock import SimulatedClock as SimulatedClock
    from daicho.testing.faults.fault_injector import OPERATION_FAULTS as OPERATION_FAULTS
    from daicho.testing.faults.fault_kinds import FAULT_KINDS as FAULT_KINDS
    from daicho.testing.memory_deployment import DeliveryError as DeliveryError
    from daicho.testing.memory_deployment import MemoryDeployment as MemoryDeployment
    from daicho.testing.schedules.default_profiles import build_profiles as build_profiles
    from daicho.testing.schedules.profile import Profile as Profile
    from daicho.testing.schedules.running import build_schedules as build_schedules
    from daicho.testing.schedules.running import run_schedule as run_schedule
    from daicho.testing.schedules.schedule import Schedule as Schedule
    from daicho.testing.simulated_entities import SimulatedEntities as SimulatedEntities
    from daicho.testing.simulated_entities import ValueSource as ValueSource
    from daicho.testing.simulated_entities import simulate_ledger as simulate_ledger

_NAMES = {
    "aws.event_filters": ("EventFilters",),
    "aws.event_source_mapping": ("EventSourceMapping",),
    "aws.invocations": ("FunctionFailed", "FunctionReturned", "Invocation"),
    "aws.mapping_settings": ("MappingSettings",),
    "aws.memory_dynamodb": ("MemoryDynamoDB",),
    "aws.memory_s3": ("MemoryS3",),
    "aws.stream_recorder": ("StreamRecorder",),
    "aws.table_stream": ("TableStream",),
    "check": ("ExactnessError", "FaultChecker", "FaultReport", "check_under_faults"),
    "clock": ("SimulatedClock",),
    "faults.fault_injector": ("OPERATION_FAULTS",),
    "faults.fault_kinds": ("FAULT_KINDS",),
    "memory_deployment": ("DeliveryError", "MemoryDeployment"),
    "schedules.default_profiles": ("build_profiles",),
    "schedules.profile": ("Profile",),
    "schedules.running": ("build_schedules", "run_schedule"),
    "schedules.schedule": ("Schedule",),
    "simulated_entities": ("SimulatedEntities", "ValueSource", "simulate_ledger"),
}
"""The public names by the module that defines them: the same as above, which mypy reads."""
__all__ = sorted(name for names in _NAMES.values() for name in names)  # noqa: PLE0605  # a test holds it to what the documentation lists
__getattr__ = lazy_imports(__name__, _NAMES)

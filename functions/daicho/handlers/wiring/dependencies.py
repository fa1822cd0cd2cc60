"""The dependencies of a function outside its process: the stores, the clock, chance."""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable

from daicho.jobs.state_machine import StateMachine
from daicho.release.stack_status import is_going_back
from daicho.runtime.clock import utc_now
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.storage.bucket import Bucket, open_bucket
from daicho.storage.event_queue import EventBus, EventQueue, open_event_bus, open_event_queue
from daicho.storage.protocols import DescribesStream
from daicho.storage.stream_shards import open_stream_describer, read_mapping_state
from daicho.storage.table import Table, open_table


@dataclass(frozen=True)
class Dependencies:
    """A handler's dependencies. Tests and the delivery simulator give their own.

    ``code``: the name of the code in the lock of redrives; computed if it is empty.
    ``parallelism``: the number of concurrent writes; 1 means in order, in the calling thread.
    """

    table: Callable[..., Table] = open_table
    bucket: Callable[..., Bucket] = open_bucket
    event_queue: Callable[[str], EventQueue] = open_event_queue
    event_bus: Callable[[str, EventQueue], EventBus] = open_event_bus
    machine: Callable[[str], StateMachine] = StateMachine
    stream: Callable[[str], DescribesStream] = open_stream_describer
    mapping_state: Callable[[str], str | None] = read_mapping_state
    is_going_back: Callable[[str], bool] = is_going_back
    now: Callable[[], dt.datetime] = utc_now
    sleep: Callable[[float], None] = time.sleep
    time: Callable[[], float] = time.time
    random: Callable[[], float] = random.random
    parallelism: int = 48
    code: str = ""


AWS_DEPENDENCIES = Dependencies()

"""What the local AWS has saved: whether it can be read, and whether a stop can save it again.

MiniStack saves the state of each service as a file when it stops. It logs an error and continues if
a file cannot be read or written. So this module checks both: nothing is started over a damaged
file, nothing is stopped that cannot be saved, and a stop that has not saved is an error.
"""

from __future__ import annotations

import json
from pathlib import Path

from daicho_cli.local.instance import LocalError, LocalInstance

ROOM = 1_000_000
"""Bytes that a first stop needs, and by which a state may have grown since the last one."""
GROWTH = 2
"""By how much the files of a stop may be larger than those of the stop before."""
CLOCK_S = 2.0
"""The resolution of the time of a file, in seconds."""


def check_readable(instance: LocalInstance) -> None:
    """Check that each saved file can be read.

    Raises:
        LocalError: one cannot. The local AWS would continue without it, and save that.
    """
    for file in _list_files(instance):
        try:
            json.loads(file.read_bytes())
        except (OSError, ValueError) as error:
            raise LocalError(
                f"{file} cannot be read ({error}): the local AWS would continue without it. "
                "Put back a copy of it, or forget all local data: make reset"
            ) from None


def check_room(instance: LocalInstance) -> None:
    """Check, before a stop, that there is room for what it saves: it writes that many bytes.

    Raises:
        LocalError: they cannot be written. Nothing has been stopped.
    """
    needed = ROOM + GROWTH * sum(file.stat().st_size for file in _list_files(instance))
    probe = _folder(instance) / "room.tmp"
    try:
        with probe.open("wb") as file:
            for _ in range(0, needed, ROOM):
                file.write(bytes(ROOM))
    except OSError as error:
        raise LocalError(
            f"a stop could not save the data: {error.strerror} ({needed // 1_000_000} MB for "
            f"{_folder(instance)}). The local AWS still runs; make room, then make down again"
        ) from None
    finally:
        probe.unlink(missing_ok=True)


def check_saved(instance: LocalInstance, since: float) -> None:
    """Check that a stop has saved every service. ``since``: when it began, in epoch seconds.

    Raises:
        LocalError: it has not; names what is as it was at an earlier stop.
    """
    files = {file.stem: file.stat().st_mtime for file in _list_files(instance)}
    late = [name for name, at in sorted(files.items()) if at < since - CLOCK_S]
    if "dynamodb" not in files:
        late.insert(0, "dynamodb")
    if late:
        raise LocalError(
            f"not saved: {', '.join(late)}. It is as at the stop before; the reason is in "
            f"{instance.logs / 'ministack.log'}"
        )


def has_objects_of_no_stack(instance: LocalInstance) -> bool:
    """Whether there are buckets, although the local AWS was never stopped cleanly.

    Objects are written at once, and all else at a stop. So it was killed before its first one.
    """
    buckets = instance.data / "s3"
    saved = _folder(instance) / "dynamodb.json"
    return not saved.exists() and buckets.is_dir() and any(buckets.iterdir())


def _folder(instance: LocalInstance) -> Path:
    return instance.data / "state"


def _list_files(instance: LocalInstance) -> list[Path]:
    return sorted(_folder(instance).glob("*.json"))

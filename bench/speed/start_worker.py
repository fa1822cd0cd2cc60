"""One start: ``start_worker.py NAME`` prints its processor time to stderr.

``NAME`` is a function, or ``bare`` for a boto3 client. Nothing is imported before it is needed: the
imports are what is measured.
"""

import sys
import time


def main(name: str) -> None:
    """Start, and print the processor time since the interpreter began."""
    if name == "bare":
        import boto3  # noqa: PLC0415

        boto3.client("dynamodb")
    else:
        from importlib import import_module  # noqa: PLC0415

        _ = import_module(f"handlers.{name}").handler  # the access builds it
    sys.stderr.write(str(time.process_time()))


if __name__ == "__main__":
    main(*sys.argv[1:])

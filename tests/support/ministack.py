"""MiniStack's DynamoDB for the integration tests, where Dynoxide has no binary.

It is the program of `make up`, with its DynamoDB alone and nothing kept on disk. Items, conditions,
transactions and streams are as on AWS; capacity units are rounded, and index queries take time in
proportion to the table.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from daicho_cli.local.environment import REGION
from tests.support.repository import PROGRAMS

PYTHON = PROGRAMS / "ministack/bin/python"
KEPT_VARIABLES = ("PATH", "HOME", "LANG")


@contextmanager
def start_ministack(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start the process; end it when the context closes."""
    if not PYTHON.exists():
        raise FileNotFoundError(f"MiniStack is not installed at {PYTHON}: run make integration")
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [PYTHON, "-m", "ministack"],
            env={
                **{name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
                "GATEWAY_PORT": str(port),
                "BIND_HOST": "127.0.0.1",
                "MINISTACK_REGION": REGION,
                "SERVICES": "dynamodb,dynamodbstreams",
                "TMPDIR": folder,
                "STATE_DIR": folder,
                "S3_DATA_DIR": folder,
                # Listeners of unused services would take fixed ports.
                "IOT_MTLS_ENABLED": "0",
                "SFTP_ENABLED": "0",
                "DOCKER_HOST": "unix:///nonexistent/docker.sock",
                "LOG_LEVEL": "ERROR",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

"""Records of the simulated stream, as an event of Lambda carries them."""

from __future__ import annotations

import json

from daicho.testing.aws.table_stream import Shard


def test_binary_values_are_base64() -> None:
    shard = Shard("s", records=[{"dynamodb": {"NewImage": {"body": {"B": b"{}"}}}}])
    assert json.loads(shard.render_record(0)) == {"dynamodb": {"NewImage": {"body": {"B": "e30="}}}}

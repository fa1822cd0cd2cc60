"""Records of the stream without the image that their kind of change has."""

from __future__ import annotations

import pytest

from daicho.stream.records import Batch, EventError
from tests.support.item_images import Payment, image_of
from tests.support.stream_events import build_event


def test_a_change_without_its_old_image_is_no_record_of_ours() -> None:
    image = image_of(Payment(id="1", payer="a", amount=1))
    whole = build_event((image, image), (image, None))
    for place in (0, 1):
        broken = build_event((image, image), (image, None))
        del broken["Records"][place]["dynamodb"]["OldImage"]
        with pytest.raises(EventError, match="image"):
            Batch.parse(broken)
    assert len(Batch.parse(whole).records) == 2

"""Photos of a tenant (seed 003): what they are stands here, the images themselves in S3."""

from __future__ import annotations

from daicho import Domain, Entity, Key, StoredObject, field, stored_object, uid


class Photo(Entity):
    """A photo. Its image is uploaded to and downloaded from S3, by signed URLs."""

    id: str = uid()
    title: str = field(default="", max_length=256)
    image: StoredObject = stored_object(
        max_bytes=20_000_000,
        types=("image/jpeg", "image/png", "image/webp", "image/gif", "image/avif"),
    )

    key = Key(id, partition=0)  # the tenant's collection, oldest first


domain = Domain("photos", Photo, examples={
    "title": "Kanda at dawn", "type": "image/jpeg", "bytes": 245760, "method": "PUT",
})  # fmt: skip
domain.resource("/photos/{id}", Photo, "POST GET PATCH DELETE LIST")

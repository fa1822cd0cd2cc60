"""From an item's image to the items derived from it and its contributions to aggregates."""

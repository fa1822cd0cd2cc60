"""The infrastructure: one stack that composes a construct for each concern."""

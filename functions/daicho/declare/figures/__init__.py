"""The figures that an ``Aggregate`` can have of one group."""

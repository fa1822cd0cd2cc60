"""The estimate of `daicho cost` beside the units that Dynoxide reports for the same work."""

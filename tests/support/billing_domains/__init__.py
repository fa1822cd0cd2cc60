"""The domain package of the example `examples/billing.py`."""

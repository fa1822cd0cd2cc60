"""The domain package of the example `examples/invoicing.py`."""

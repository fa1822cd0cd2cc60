"""What operators see and do across all tenants: the routes under ``/ops``."""

"""The console: a page where people look at their data, served by the API."""

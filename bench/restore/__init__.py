"""The trial of a table that is moved back."""

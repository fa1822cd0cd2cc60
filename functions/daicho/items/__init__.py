"""Between entities and what is stored: arguments to key components, and projections of items."""

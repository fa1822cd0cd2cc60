"""What bodies look like: Pydantic models of entities, and the types of values on the wire."""

"""The format of bodies: Pydantic models of entities, and the types of values on the wire."""

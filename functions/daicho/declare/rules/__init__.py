"""Rules of an entity: what its items must fulfil, and who may read and write them."""

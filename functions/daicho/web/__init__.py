"""The API: what a `Daicho` declares, over HTTP. Powertools routes, validates and describes it."""

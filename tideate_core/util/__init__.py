"""General helpers without knowledge of tideate: atomic files, escaping, JSON Schemas, Markdown."""

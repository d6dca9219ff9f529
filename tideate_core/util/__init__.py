"""General helpers, independent of tideate: atomic files, lazy exports, escaping, JSON Schemas, Markdown."""

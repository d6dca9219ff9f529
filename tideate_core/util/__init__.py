"""Helpers that know nothing of tideate: atomic files, lazy exports, escaping, JSON Schemas, Markdown."""

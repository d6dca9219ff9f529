"""Bounds for what the bundled model may generate: without them a small model fills strings without end."""

from __future__ import annotations

from pydantic_ai._json_schema import JsonSchema, JsonSchemaTransformer

__all__ = ["BoundedSchema"]

LONGEST_STRING = 240
LONGEST_LIST = 4


class BoundedSchema(JsonSchemaTransformer):
    """Inlines definitions and bounds every string and list that has no bound of its own."""

    def __init__(self, schema: JsonSchema, *, strict: bool | None = None) -> None:
        super().__init__(schema, strict=strict, prefer_inlined_defs=True)

    def transform(self, schema: JsonSchema) -> JsonSchema:
        schema.pop("title", None)
        schema.pop("default", None)
        match schema.get("type"):
            case "string" if not {"enum", "const", "pattern", "format"} & schema.keys():
                schema.setdefault("maxLength", LONGEST_STRING)
            case "array":
                schema.setdefault("maxItems", LONGEST_LIST)
            case "object" if "properties" in schema:
                # every key, in one order: the grammar then has no choice that a small model could get wrong
                schema["required"] = list(schema["properties"])
                schema["additionalProperties"] = False
        return schema

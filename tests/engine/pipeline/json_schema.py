"""As much of JSON Schema as the schema of pipelines uses; a keyword that is not here is an error."""

import re

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "integer": lambda v: isinstance(v, int | float) and not isinstance(v, bool) and v == int(v),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
}


def _type(value, kinds, _):
    return any(TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _number(compare):
    return lambda value, bound, _: not TYPES["number"](value) or compare(value, bound)


def _size(kind, compare):
    return lambda value, bound, _: not isinstance(value, kind) or compare(len(value), bound)


CHECKS = {
    "type": _type,
    "enum": lambda value, known, _: value in known,
    "const": lambda value, known, _: value == known,
    "pattern": lambda value, pattern, _: not isinstance(value, str) or bool(re.search(pattern, value)),
    "minimum": _number(lambda x, bound: x >= bound),
    "maximum": _number(lambda x, bound: x <= bound),
    "exclusiveMinimum": _number(lambda x, bound: x > bound),
    "minLength": _size(str, lambda n, bound: n >= bound),
    "minItems": _size(list, lambda n, bound: n >= bound),
    "maxItems": _size(list, lambda n, bound: n <= bound),
    "minProperties": _size(dict, lambda n, bound: n >= bound),
    "maxProperties": _size(dict, lambda n, bound: n <= bound),
    "required": lambda value, keys, _: not isinstance(value, dict) or set(keys) <= set(value),
    "anyOf": lambda value, parts, root: any(valid(value, part, root) for part in parts),
    "oneOf": lambda value, parts, root: sum(valid(value, part, root) for part in parts) == 1,
    "items": lambda value, part, root: not isinstance(value, list) or all(valid(v, part, root) for v in value),
    "prefixItems": lambda value, parts, root: (
        not isinstance(value, list) or all(valid(v, part, root) for v, part in zip(value, parts, strict=False))
    ),
    "$ref": lambda value, ref, root: valid(value, root["$defs"][ref.removeprefix("#/$defs/")], root),
}
SAID = {"$schema", "$defs", "title", "description", "examples", "default"}
MEMBERS = {"properties", "patternProperties", "additionalProperties"}


def valid(value, schema, root):
    """Whether a value is as the schema says."""
    unknown = set(schema) - set(CHECKS) - SAID - MEMBERS
    assert not unknown, unknown
    return all(
        CHECKS[keyword](value, said, root) for keyword, said in schema.items() if keyword in CHECKS
    ) and _members_valid(value, schema, root)


def _members_valid(value, schema, root):
    if not isinstance(value, dict):
        return True
    for key, member in value.items():
        named = schema.get("properties", {}).get(key)
        matched = [part for pattern, part in schema.get("patternProperties", {}).items() if re.search(pattern, key)]
        parts = [named] if named is not None else matched
        if not parts and schema.get("additionalProperties") is False:
            return False
        if not all(valid(member, part, root) for part in parts):
            return False
    return True


def keys(schema, path=()):
    """The description of every key that any mapping of the schema has, by where it stands in the schema."""
    if isinstance(schema, dict):
        for key, part in schema.get("properties", {}).items():
            yield (*path, key), part.get("description")
        for step, part in schema.items():
            yield from keys(part, (*path, step))
    elif isinstance(schema, list):
        for part in schema:
            yield from keys(part, path)

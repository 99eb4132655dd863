"""Pipelines: files that describe streams, tables and continuous queries. What `headgate run` runs."""

from headgate.engine.pipeline.pipeline import Pipeline, build, load
from headgate.engine.pipeline.schema import schema

__all__ = ["Pipeline", "build", "load", "schema"]

"""Quality of service for continuous queries: one control plane, driven by a simulator and by Apache Spark."""

__version__ = "0.1.0"

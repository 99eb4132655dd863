"""The published experiments: what the paper says beside what we measure."""

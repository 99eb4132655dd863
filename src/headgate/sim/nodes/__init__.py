"""Several nodes under one coordinator: streams whose load shifts, queries that move, nodes that sleep."""

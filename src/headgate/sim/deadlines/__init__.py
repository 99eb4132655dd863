"""Window queries with deadlines on one simulated processor: rates, workloads, dispatchers, and the runs."""

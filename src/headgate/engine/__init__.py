"""Backend 2: continuous queries as Spark jobs over a log of trains, scheduled by the control plane."""

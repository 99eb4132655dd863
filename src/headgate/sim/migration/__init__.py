"""Two nodes and a query that moves from one to the other, result by result: UniMiCo beside WRP and stop-and-copy."""

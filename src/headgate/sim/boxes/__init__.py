"""Networks of boxes on one processor: trains, superboxes, and the overhead of running and scheduling them."""

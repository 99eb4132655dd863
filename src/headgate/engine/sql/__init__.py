"""From a query's text to what Spark runs: what it may read, and how it is split over trains, panes and windows."""

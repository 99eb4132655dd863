"""Where the results of a query go. What a user writes as `headgate.sink`."""

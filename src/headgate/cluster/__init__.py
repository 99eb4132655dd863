"""Several engines that share their queries: a coordinator says who runs what, nodes do it."""

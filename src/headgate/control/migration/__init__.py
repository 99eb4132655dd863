"""UniMiCo: a running query moves to another node at the border of two windows, without its state, without a stop."""

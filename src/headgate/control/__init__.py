"""What joins scheduling and shedding: the shares of classes, and who may lend to whom."""

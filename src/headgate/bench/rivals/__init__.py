"""The systems that `headgate bench many-queries` compares, each in a process of its own."""

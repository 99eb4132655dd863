"""Side by side with the alternative, in one run: what is timed is here and never in a test."""

"""Several nodes under one coordinator: what they report, and what it orders. ARMaDILoS, as pure as a load manager."""

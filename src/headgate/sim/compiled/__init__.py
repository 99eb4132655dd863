"""The compiled kernels: the many-query experiments at tens of millions of executions a second.

Each covers one shape of network and takes its priorities from the same statements as the event kernel; where both
apply they give the same departures, to the bit.

The few lines that run a tuple and count its result stand in each kernel: as a function they would take a dozen
arrays, and handing those over costs as much as the work.
"""

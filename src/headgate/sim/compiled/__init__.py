"""The compiled kernels: the many-query experiments at tens of millions of executions a second.

Each covers one shape of network and takes its priorities from the same statements as the event kernel; where both
apply they give the same departures, to the bit.
"""

"""The kernel of fused units: many queries over one train, vectorised. It runs in a Spark task, without Spark itself.

Segment          what a query does with a train, as Spark has resolved it (`ir`)
shape, constants the segment without its constants, and those: alike queries are one shape (`shapes`)
Program          the changing set of queries of a unit, as a list of changes (`program`)
Kernel           applies changes, and runs a train through all queries at once (`kernel`)
"""

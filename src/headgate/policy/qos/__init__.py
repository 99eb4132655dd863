"""Schedulers that are driven by QoS graphs, and those that they are compared with.

They decide on several runs at once, the schedule. Over units that are operators, with other units behind them, they
schedule box by box. Over units that go all the way to the output the very same schedulers are the push-through ones:
whatever is started is finished before anything else.

A decision's `Work` says what it took, so that a simulator can charge for it:

    scheduler                        computations            comparisons      reads
    in-turn, fixed-priority          –                       units that wait  units looked at
    slope-slack                      priorities computed     units that wait  units looked at
    bucketing                        units put into a cell   –                cells swept
    qos                              units put into place    units in front   slopes that there are
    lottery, stride                  –                       queries compared units looked at

So computations cost c_pri, or c_asg under bucketing, comparisons c_run, and reads c_scan, or c_cell under bucketing.
"""

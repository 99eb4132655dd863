"""Resident lanes: long-running Spark tasks that run Programs on command.

    lane          takes work in the driver, and keeps a task at its disposal (`lane`, `task`)
    conversation  what the driver says to the worker, and what it hears (`conversation`, `messages`, `answers`)
    channel       how the words travel: a Unix socket, or Arrow Flight between machines (`channel`, `unix`, `flight`)
    worker        the Python process of the task, with its kernels (`entry`, `worker`, `kernels`)

A driver that hears nothing from a worker for some seconds lets it go, and Spark starts another. Since nothing is
committed but in the driver, a run that was not answered has not happened.
"""

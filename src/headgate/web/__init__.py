"""The dashboard, the metrics and the health of an engine, served by the engine's own process.

    engine ── recent snapshot ──▶ Watch ──▶ Frame ──▶ messages of rows ──▶ pages (Server-Sent Events)
       └───── record's entries ──▶ Journal ──┘  └──▶ metrics, health
       ◀──────── pause, resume, prioritise ◀── with the token ── pages

`Served` is the one protocol: an engine by values. `Engine.serve` is the way in, `OnEngine` the only one who knows
engines. A `Frame` is a snapshot and what had been recorded by then; its parts are rows by key.
Whoever watches gets all rows of the parts that a page asks for, and then those that have changed. Rows are made once
for all who watch, only if somebody does, and gently: the scheduler's thread never waits for them.
"""

-- bursts
SELECT sym, count(*) AS n, max(price) AS high, percentile(price, 0.5) AS middle
FROM ticks GROUP BY sym, session_window(ts, '2 seconds');
SELECT session_window.start AS session_start, session_window.end AS session_end, sym,
  count(*) AS n, max(price) AS high, percentile(price, 0.5) AS middle
FROM ticks GROUP BY sym, session_window(ts, '2 seconds');

-- large_trades
SELECT count(*) AS n, last(price) AS closed
FROM ticks WHERE vol > 3500 GROUP BY session_window(ts, '300 milliseconds');
SELECT session_window.start AS session_start, session_window.end AS session_end,
  count(*) AS n, max_by(price, struct(ts, n)) AS closed
FROM ticks_log WHERE vol > 3500 GROUP BY session_window(ts, '300 milliseconds');

-- long_bursts
SELECT count(*) AS n, sum(price) AS total
FROM ticks WHERE vol > 1500 GROUP BY session_window(ts, '400 milliseconds') HAVING n > 3 AND min(vol) < 2000;
SELECT session_window.start AS session_start, session_window.end AS session_end, count(*) AS n, sum(price) AS total
FROM ticks WHERE vol > 1500 GROUP BY session_window(ts, '400 milliseconds') HAVING n > 3 AND min(vol) < 2000;

-- bursts_of_a_sector
SELECT t.venue, s.sector, sum(vol) AS vol FROM ticks t JOIN symbols s ON t.sym = s.sym
GROUP BY t.venue, s.sector, session_window(t.ts, '1 second 500 milliseconds') HAVING count(*) > 3;
SELECT session_window.start AS session_start, session_window.end AS session_end, t.venue, s.sector, sum(vol) AS vol
FROM ticks t JOIN symbols s ON t.sym = s.sym
GROUP BY t.venue, s.sector, session_window(t.ts, '1 second 500 milliseconds') HAVING count(*) > 3;

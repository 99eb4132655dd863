-- counts window=10s
SELECT sym, count(*) AS n, sum(vol) AS vol FROM ticks GROUP BY sym;
SELECT window.start AS window_start, window.end AS window_end, sym, count(*) AS n, sum(vol) AS vol
FROM ticks GROUP BY window(ts, '10 seconds'), sym;

-- vwap window=10s slide=2s
SELECT sym, sum(price * vol) / sum(vol) AS vwap FROM ticks GROUP BY sym;
SELECT window.start AS window_start, window.end AS window_end, sym, sum(price * vol) / sum(vol) AS vwap
FROM ticks GROUP BY window(ts, '10 seconds', '2 seconds'), sym;

-- extremes window=20s slide=10s
SELECT venue, min(price) AS low, max(price) AS high, avg(price) AS mean, avg(vol) AS mean_vol, max(sym) AS last_sym
FROM ticks GROUP BY venue;
SELECT window.start AS window_start, window.end AS window_end, venue,
  min(price) AS low, max(price) AS high, avg(price) AS mean, avg(vol) AS mean_vol, max(sym) AS last_sym
FROM ticks GROUP BY window(ts, '20 seconds', '10 seconds'), venue;

-- no_divisor window=10s slide=4s
SELECT side, count(*) AS n, min(ts) AS first_at, max(ts) AS last_at FROM ticks GROUP BY side;
SELECT window_start, window_end, side, count(*) AS n, min(ts) AS first_at, max(ts) AS last_at
FROM ticks_windowed GROUP BY 1, 2, 3;

-- gaps window=5s slide=8s
SELECT sym, sum(price) AS total, count(price) AS n FROM ticks GROUP BY sym;
SELECT window_start, window_end, sym, sum(price) AS total, count(price) AS n FROM ticks_windowed GROUP BY 1, 2, 3;

-- mostly_none window=3s slide=500ms
SELECT count(*) AS n, max(price) AS high, sum(vol) + 1 AS vol FROM ticks WHERE sym = 'AAQ';
SELECT window_start, window_end, count_if(sym = 'AAQ') AS n,
  max(price) FILTER (WHERE sym = 'AAQ') AS high, sum(vol) FILTER (WHERE sym = 'AAQ') + 1 AS vol
FROM ticks_windowed GROUP BY 1, 2;

-- spread window=15s slide=5s
SELECT sym, variance(price) AS a, var_pop(price) AS b, stddev(price) AS c, stddev_pop(vol) AS d, var_samp(vol) AS e,
  stddev_samp(nullif(price, 0)) AS f
FROM ticks GROUP BY sym;
SELECT window_start, window_end, sym,
  variance(price) AS a, var_pop(price) AS b, stddev(price) AS c, stddev_pop(vol) AS d, var_samp(vol) AS e,
  stddev_samp(nullif(price, 0)) AS f
FROM ticks_windowed GROUP BY 1, 2, 3;

-- opening_and_closing window=20s slide=5s
SELECT sym, first(price) AS opened, last(price) AS closed, first_value(nullif(side, 'B')) IGNORE NULLS AS first_sale,
  last(nullif(venue, 'IEX'), true) AS last_venue, last(price) FILTER (WHERE side = 'S') AS last_sold
FROM ticks GROUP BY sym;
SELECT window_start, window_end, sym,
  min_by(price, struct(ts, n)) AS opened, max_by(price, struct(ts, n)) AS closed,
  min_by(side, struct(ts, n)) FILTER (WHERE side = 'S') AS first_sale,
  max_by(venue, struct(ts, n)) FILTER (WHERE venue <> 'IEX') AS last_venue,
  max_by(price, struct(ts, n)) FILTER (WHERE side = 'S') AS last_sold
FROM ticks_windowed GROUP BY 1, 2, 3;

-- best window=10s slide=5s
SELECT side, max_by(sym, struct(price, ts)) AS dearest, min_by(venue, struct(price, ts)) AS at, min_by(vol, ts) AS first_vol
FROM ticks GROUP BY side;
SELECT window_start, window_end, side,
  max_by(sym, struct(price, ts)) AS dearest, min_by(venue, struct(price, ts)) AS at, min_by(vol, ts) AS first_vol
FROM ticks_windowed GROUP BY 1, 2, 3;

-- logic window=10s
SELECT venue, count_if(side = 'B') AS bought, bool_and(vol > 100) AS all_large, any(vol > 4000) AS one_large,
  bit_xor(vol) AS bits, bit_or(vol) AS ones, count(nullif(side, 'B'), vol) AS sold, sum(nullif(vol, vol)) AS nothing
FROM ticks GROUP BY venue;
SELECT window_start, window_end, venue,
  count_if(side = 'B') AS bought, bool_and(vol > 100) AS all_large, any(vol > 4000) AS one_large,
  bit_xor(vol) AS bits, bit_or(vol) AS ones, count(nullif(side, 'B'), vol) AS sold, sum(nullif(vol, vol)) AS nothing
FROM ticks_windowed GROUP BY 1, 2, 3;

-- busy window=10s slide=5s
SELECT sym, count(*) AS n FROM ticks GROUP BY sym HAVING n >= 20 AND avg(price) > 12;
SELECT window_start, window_end, sym, count(*) AS n
FROM ticks_windowed GROUP BY 1, 2, 3 HAVING count(*) >= 20 AND avg(price) > 12;

-- whole_market window=30s slide=6s
SELECT count(*) AS n, sum(price * vol) AS turnover, stddev(price) AS spread, max(ts) - min(ts) AS length FROM ticks;
SELECT window_start, window_end, count(*) AS n, sum(price * vol) AS turnover, stddev(price) AS spread,
  max(ts) - min(ts) AS length
FROM ticks_windowed GROUP BY 1, 2;

-- by_expression window=10s
SELECT left(sym, 2) AS family, upper(side) AS s, sum(vol) / count(*) + 1 AS a, round(max(price) - min(price), 2) AS b
FROM ticks GROUP BY family, 2;
SELECT window_start, window_end, left(sym, 2) AS family, upper(side) AS s, sum(vol) / count(*) + 1 AS a,
  round(max(price) - min(price), 2) AS b
FROM ticks_windowed GROUP BY 1, 2, 3, 4;

-- exact window=10s slide=5s
SELECT sym, sum(CAST(price AS DECIMAL(10, 2))) AS total, avg(CAST(price AS DECIMAL(10, 2))) AS mean,
  sum(CAST(price AS DECIMAL(10, 2)) * vol) AS value
FROM ticks GROUP BY sym;
SELECT window_start, window_end, sym,
  sum(CAST(price AS DECIMAL(10, 2))) AS total, avg(CAST(price AS DECIMAL(10, 2))) AS mean,
  sum(CAST(price AS DECIMAL(10, 2)) * vol) AS value
FROM ticks_windowed GROUP BY 1, 2, 3;

-- about_how_many window=50s slide=25s within=0.05
SELECT approx_count_distinct(sym) AS syms, approx_count_distinct(vol) AS vols FROM ticks;
SELECT window_start, window_end, count(DISTINCT sym) AS syms, count(DISTINCT vol) AS vols
FROM ticks_windowed GROUP BY 1, 2;

-- by_sector window=10s slide=5s
SELECT s.sector, count(*) AS n, sum(t.vol * s.lot) AS lots FROM ticks t LEFT JOIN symbols s ON t.sym = s.sym
GROUP BY s.sector;
SELECT window_start, window_end, s.sector, count(*) AS n, sum(t.vol * s.lot) AS lots
FROM ticks_windowed t LEFT JOIN symbols s ON t.sym = s.sym GROUP BY 1, 2, 3;

-- of_a_subquery window=10s
SELECT sym, max(value) AS most FROM (SELECT sym, price * vol AS value FROM ticks WHERE side = 'B') GROUP BY sym;
SELECT window_start, window_end, sym, max(price * vol) AS most FROM ticks_windowed WHERE side = 'B' GROUP BY 1, 2, 3;

-- never_so_many window=10s empty=yes
SELECT sym, count(*) AS n FROM ticks GROUP BY sym HAVING count(*) > 1000000;
SELECT window_start, window_end, sym, count(*) AS n FROM ticks_windowed GROUP BY 1, 2, 3 HAVING n > 1000000;

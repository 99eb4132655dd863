-- percentiles window=30s
SELECT sym, percentile(price, 0.5) AS p50, median(vol) AS middle, percentile(price, array(0.1, 0.9)) AS ends
FROM ticks GROUP BY sym;
SELECT window_start, window_end, sym,
  percentile(price, 0.5) AS p50, median(vol) AS middle, percentile(price, array(0.1, 0.9)) AS ends
FROM ticks_windowed GROUP BY 1, 2, 3;

-- sets window=30s slide=15s
SELECT sym, array_sort(collect_set(venue)) AS venues FROM ticks GROUP BY sym;
SELECT window_start, window_end, sym, array_sort(collect_set(venue)) AS venues FROM ticks_windowed GROUP BY 1, 2, 3;

-- distinct_counts window=40s slide=20s
SELECT venue, count(DISTINCT sym) AS syms, count(DISTINCT side, vol) AS kinds, count(*) AS n FROM ticks GROUP BY venue;
SELECT window_start, window_end, venue, count(DISTINCT sym) AS syms, count(DISTINCT side, vol) AS kinds, count(*) AS n
FROM ticks_windowed GROUP BY 1, 2, 3;

-- top_three window=30s slide=20s
SELECT sym, sum(vol) AS vol FROM ticks GROUP BY sym ORDER BY vol DESC, sym LIMIT 3;
SELECT window_start, window_end, sym, vol
FROM (
  SELECT *, row_number() OVER (PARTITION BY window_start ORDER BY vol DESC, sym) AS place
  FROM (SELECT window_start, window_end, sym, sum(vol) AS vol FROM ticks_windowed GROUP BY 1, 2, 3)
)
WHERE place <= 3;

-- changes window=40s
SELECT sym, ts, price - lag(price) OVER (PARTITION BY sym ORDER BY ts) AS change,
  sum(vol) OVER (PARTITION BY sym ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS recent
FROM ticks;
SELECT window_start, window_end, sym, ts,
  price - lag(price) OVER (PARTITION BY window_start, sym ORDER BY ts) AS change,
  sum(vol) OVER (PARTITION BY window_start, sym ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS recent
FROM ticks_windowed;

-- above_average window=40s
SELECT sym, price FROM ticks WHERE price > 2 * (SELECT avg(price) FROM ticks);
SELECT window_start, window_end, sym, price
FROM (SELECT *, avg(price) OVER (PARTITION BY window_start) AS mean FROM ticks_windowed)
WHERE price > 2 * mean;

-- totals window=40s
SELECT venue, side, sum(vol) AS vol FROM ticks GROUP BY ROLLUP (venue, side);

-- both_sides window=30s slide=40s
SELECT b.sym, count(*) AS pairs, max(s.price - b.price) AS gain
FROM ticks b JOIN ticks s ON b.sym = s.sym AND b.side = 'B' AND s.side = 'S' AND s.ts > b.ts
GROUP BY b.sym;

-- bought_not_sold window=40s
SELECT sym FROM ticks WHERE side = 'B' EXCEPT SELECT sym FROM ticks WHERE side = 'S';

-- not_traded window=40s
SELECT s.sym, s.sector FROM symbols s LEFT ANTI JOIN ticks t ON s.sym = t.sym;

-- how_many_dear window=40s
SELECT count(DISTINCT sym) AS dear FROM ticks WHERE price > 450;

-- opened_at window=40s
SELECT o.sym, o.opened, t.vol
FROM (SELECT sym, first(price) AS opened, max(vol) AS most FROM ticks GROUP BY sym) o
JOIN ticks t ON t.sym = o.sym AND t.vol = o.most;
SELECT window_start, window_end, sym, opened, vol
FROM (
  SELECT *, max(vol) OVER (PARTITION BY window_start, sym) AS most,
    first_value(price) OVER (PARTITION BY window_start, sym ORDER BY ts, n) AS opened
  FROM ticks_windowed
)
WHERE vol = most;

-- arriving window=300ms slide=200ms time=arrival
SELECT venue, count(DISTINCT sym) AS syms FROM ticks GROUP BY venue;
SELECT window_start, window_end, venue, count(DISTINCT sym) AS syms FROM ticks_windowed GROUP BY 1, 2, 3;

-- nothing_whole window=40s empty=yes
SELECT DISTINCT sym FROM ticks WHERE vol < 0;

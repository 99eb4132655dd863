-- last_five window=5_rows slide=1_row
SELECT sum(vol) AS vol, max(price) AS high FROM ticks;
SELECT n AS window_start, n + 5 AS window_end,
  sum(vol) OVER (ORDER BY n ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING) AS vol,
  max(price) OVER (ORDER BY n ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING) AS high
FROM ticks_log;

-- hundreds window=100_rows
SELECT sym, count(*) AS n, avg(price) AS mean, first(price) AS opened, last(price) AS closed FROM ticks GROUP BY sym;
SELECT window_start, window_end, sym, count(*) AS n, avg(price) AS mean,
  min_by(price, n) AS opened, max_by(price, n) AS closed
FROM (SELECT *, n div 100 * 100 AS window_start, n div 100 * 100 + 100 AS window_end FROM ticks_log)
GROUP BY 1, 2, 3;

-- rows_of_no_divisor window=30_rows slide=12_rows
SELECT venue, sum(vol) AS vol, count_if(side = 'B') AS bought FROM ticks WHERE price > 20 GROUP BY venue HAVING count(*) > 2;
SELECT window_start, window_end, venue, sum(vol) AS vol, count_if(side = 'B') AS bought
FROM ticks_windowed WHERE price > 20 GROUP BY 1, 2, 3 HAVING count(*) > 2;

-- some_rows window=20_rows slide=50_rows
SELECT s.sector, sum(t.vol * s.lot) AS vol FROM ticks t JOIN symbols s ON t.sym = s.sym GROUP BY s.sector;
SELECT window_start, window_end, s.sector, sum(t.vol * s.lot) AS vol
FROM ticks_windowed t JOIN symbols s ON t.sym = s.sym GROUP BY 1, 2, 3;

-- kinds_of_rows window=300_rows slide=150_rows
SELECT count(DISTINCT sym) AS syms, median(price) AS middle, count(*) AS n FROM ticks;
SELECT window_start, window_end, count(DISTINCT sym) AS syms, median(price) AS middle, count(*) AS n
FROM ticks_windowed GROUP BY 1, 2;

-- changes_of_rows window=500_rows slide=400_rows
SELECT sym, price, price - lag(price) OVER (PARTITION BY sym ORDER BY ts, price) AS change FROM ticks;

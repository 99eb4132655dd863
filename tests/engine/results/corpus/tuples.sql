-- everything
SELECT * FROM ticks;

-- all_but_two
SELECT * EXCEPT (venue, side), price * vol AS value FROM ticks t WHERE t.price * t.vol > 100000;

-- like
SELECT sym, venue, ts FROM ticks WHERE venue LIKE 'N%' OR (sym LIKE '_B_' AND venue NOT LIKE '%X') OR venue RLIKE '^B.*S$';

-- in_lists
SELECT sym, side, price FROM ticks WHERE sym IN ('AAA', 'AAC', 'ABA', 'ZZZ') AND (side NOT IN ('S', NULL)) IS NULL;

-- cases
SELECT sym, CASE WHEN vol < 300 THEN 'small' WHEN vol < 1500 THEN 'middle' ELSE 'large' END AS size,
  CASE side WHEN 'B' THEN vol WHEN 'S' THEN -vol END AS signed, if(price > 100, 'dear', NULL) AS dear
FROM ticks;

-- nulls
SELECT sym, nullif(side, 'B') AS sold, coalesce(nullif(side, 'B'), nullif(venue, 'IEX'), 'none') AS some,
  nullif(side, 'B') <=> NULL AS bought, nullif(vol, 100) > 500 AS more, nullif(venue, 'IEX') || sym AS joined
FROM ticks
WHERE NOT (nullif(venue, 'ARCA') = 'BATS') OR nullif(side, 'S') IS NULL AND vol > 1000;

-- strings
SELECT lower(sym) AS a, concat_ws('-', sym, venue, side) AS b, lpad(side, 3, '.') AS c, substring(venue, 2, 2) AS d,
  regexp_replace(venue, '[AEIOU]', '*') AS e, reverse(sym) AS f, instr(venue, 'S') AS g, length(venue) AS h,
  translate(sym, 'AB', 'xy') AS i, initcap(venue) AS j, sha2(sym, 256) AS k, ascii(sym) AS l
FROM ticks WHERE vol > 400;

-- times
SELECT sym, date_trunc('minute', ts) AS a, second(ts) AS b, minute(ts) AS c, date_format(ts, 'EEE HH:mm:ss.SSS') AS d,
  unix_millis(ts) AS e, ts + INTERVAL 5 MINUTES AS f, CAST(ts AS DATE) AS g, dayofweek(ts) AS h,
  timestampdiff(SECOND, TIMESTAMP '2026-01-01 00:00:00', ts) AS i, ts > '2026-01-01 00:01:00' AS j
FROM ticks WHERE extract(SECOND FROM ts) < 20;

-- numbers
SELECT sym, round(price, 1) AS a, floor(price) AS b, vol % 700 AS c, vol DIV 300 AS d, price / (vol - 100) AS e,
  sqrt(vol) AS f, greatest(price, vol / 10) AS g, CAST(price AS DECIMAL(10, 2)) * vol AS h, vol & 255 AS i,
  CAST(sym AS INT) AS j, CAST(price AS INT) AS k, log10(price) AS l, -vol AS m, sign(price - 50) AS n
FROM ticks;

-- nested
SELECT named_struct('sym', sym, 'deal', array(price, vol)) AS a, transform(sequence(1, vol DIV 500), x -> x * price) AS b,
  filter(array(vol, 100, 2000), x -> x > vol) AS c, split(venue, '')[0] AS d, map('side', side)['side'] AS e
FROM ticks WHERE vol >= 900;

-- exploded
SELECT sym, letter, place FROM ticks LATERAL VIEW posexplode(split(venue, '')) e AS place, letter WHERE letter <> 'S';

-- with_clause
WITH sold AS (SELECT * FROM ticks WHERE side = 'S'), dear AS (SELECT sym, price FROM sold WHERE price > 90)
SELECT d.sym, d.price FROM dear AS d;

-- joined
SELECT t.sym, s.sector, t.price * s.lot AS of_lot FROM ticks t JOIN symbols s ON t.sym = s.sym WHERE s.lot > 1;

-- left_joined
SELECT t.sym, s.sector, coalesce(s.lot, 0) AS lot, t.ts FROM ticks t LEFT JOIN symbols s ON t.sym = s.sym AND s.lot < 100;

-- unequal_join
SELECT t.sym, b.label FROM ticks t JOIN bands b ON t.price >= b.low AND t.price < b.high WHERE t.side = 'B';

-- anti_joined
SELECT t.sym, t.vol FROM ticks t LEFT ANTI JOIN symbols s ON t.sym = s.sym;

-- in_table
SELECT sym, price FROM ticks WHERE sym IN (SELECT sym FROM symbols WHERE lot = 10) AND vol > 500;

-- none empty=yes
SELECT sym, price FROM ticks WHERE price < 0;

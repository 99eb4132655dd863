-- q0
SELECT auction, bidder, price, dateTime, extra FROM bids;

-- q1
SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bids;

-- q2
SELECT auction, price FROM bids WHERE auction % 123 = 0;

-- q3 window=6h
SELECT p.name, p.city, p.state, a.id
FROM auctions a JOIN persons p ON a.seller = p.id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
SELECT a.window_start, a.window_end, p.name, p.city, p.state, a.id
FROM auctions_windowed a JOIN persons_windowed p ON a.seller = p.id AND a.window_start = p.window_start
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');

-- q4 window=8h
SELECT category, avg(final) AS average
FROM (
  SELECT a.id, a.category, max(b.price) AS final
  FROM auctions a JOIN bids b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY a.id, a.category
)
GROUP BY category;

-- q5 window=4h slide=2h
WITH counted AS (SELECT auction, count(*) AS num FROM bids GROUP BY auction)
SELECT auction, num FROM counted WHERE num >= (SELECT max(num) FROM counted);
SELECT window.start AS window_start, window.end AS window_end, auction, num
FROM (
  SELECT *, max(num) OVER (PARTITION BY window) AS most
  FROM (SELECT window(dateTime, '4 hours', '2 hours') AS window, auction, count(*) AS num FROM bids GROUP BY 1, 2)
)
WHERE num = most;

-- q7 window=3h
SELECT b.auction, b.price, b.bidder, b.dateTime
FROM bids b JOIN (SELECT max(price) AS most FROM bids) m ON b.price = m.most;
SELECT window_start, window_end, auction, price, bidder, dateTime
FROM (SELECT *, rank() OVER (PARTITION BY window_start ORDER BY price DESC) AS r FROM bids_windowed)
WHERE r = 1;

-- q8 window=6h
SELECT p.id, p.name
FROM (SELECT id, name FROM persons GROUP BY id, name) p
JOIN (SELECT seller FROM auctions GROUP BY seller) a ON p.id = a.seller;
SELECT DISTINCT p.window_start, p.window_end, p.id, p.name
FROM persons_windowed p JOIN auctions_windowed a ON p.id = a.seller AND p.window_start = a.window_start;

-- q11
SELECT bidder, count(*) AS bids FROM bids GROUP BY bidder, session_window(dateTime, '10 minutes');
SELECT session_window.start AS session_start, session_window.end AS session_end, bidder, count(*) AS bids
FROM bids GROUP BY bidder, session_window(dateTime, '10 minutes');

-- q12 window=200ms time=arrival
SELECT bidder, count(*) AS bids FROM bids GROUP BY bidder;
SELECT window_start, window_end, bidder, count(*) AS bids FROM bids_windowed GROUP BY ALL;

-- q13
SELECT b.auction, b.bidder, b.price, b.dateTime, s.value
FROM bids b JOIN side_input s ON b.auction % 100 = s.key;

-- q14
SELECT auction, bidder, 0.908 * price AS price,
  CASE WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime'
       WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime'
       ELSE 'otherTime' END AS bidTimeType,
  dateTime, extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts
FROM bids WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;

-- q17 window=6h
SELECT auction, date_format(dateTime, 'yyyy-MM-dd') AS day, count(*) AS total_bids,
  count(*) FILTER (WHERE price < 10000) AS rank1_bids,
  count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
  count(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
  min(price) AS min_price, max(price) AS max_price, avg(price) AS avg_price, sum(price) AS sum_price
FROM bids GROUP BY auction, date_format(dateTime, 'yyyy-MM-dd');
SELECT window_start, window_end, auction, date_format(dateTime, 'yyyy-MM-dd') AS day, count(*) AS total_bids,
  count(*) FILTER (WHERE price < 10000) AS rank1_bids,
  count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
  count(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
  min(price) AS min_price, max(price) AS max_price, avg(price) AS avg_price, sum(price) AS sum_price
FROM bids_windowed GROUP BY 1, 2, 3, 4;

-- q18 window=8h
SELECT auction, bidder, price, dateTime
FROM (SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS place FROM bids)
WHERE place = 1;
SELECT window_start, window_end, auction, bidder, max_by(price, dateTime) AS price, max(dateTime) AS dateTime
FROM bids_windowed GROUP BY 1, 2, 3, 4;

-- q20 window=6h
SELECT b.auction, b.bidder, b.price, b.dateTime AS at, a.itemName, a.initialBid, a.seller, a.category
FROM bids b JOIN auctions a ON b.auction = a.id
WHERE a.category = 10;
SELECT b.window_start, b.window_end,
  b.auction, b.bidder, b.price, b.dateTime AS at, a.itemName, a.initialBid, a.seller, a.category
FROM bids_windowed b JOIN auctions_windowed a ON b.auction = a.id AND b.window_start = a.window_start
WHERE a.category = 10;

-- q21
SELECT auction, bidder, price, channel,
  CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
    ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
FROM bids
WHERE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) <> ''
  OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu');

-- q22
SELECT auction, bidder, price, channel,
  split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2, split_part(url, '/', 6) AS dir3
FROM bids;

-- +goose Up
-- A fifth grain of the rollup: day, status and nps, which is what trends are mostly drawn from. It is the sum of the third over carriers.
SET LOCAL lock_timeout = '5s';

-- Nobody folds from here on: a fold writes all grains or none.
LOCK TABLE feedback_rollup IN SHARE ROW EXCLUSIVE MODE;

ALTER TABLE feedback_rollup DROP CONSTRAINT feedback_rollup_grain;

-- Every row was checked to be from 1 to 4.
ALTER TABLE feedback_rollup ADD CONSTRAINT feedback_rollup_grain CHECK (grain BETWEEN 1 AND 5) NOT VALID;

INSERT INTO feedback_rollup (organization_id, grain, bucket, carrier_id, source, status, nps,
                             n, sat_n, sat_sum, completed_n, sentiment_n, sentiment_sum)
SELECT organization_id, 5, bucket, 0, 0, status, nps,
       sum(n), sum(sat_n), sum(sat_sum), sum(completed_n), sum(sentiment_n), sum(sentiment_sum)
FROM feedback_rollup
WHERE grain = 3
GROUP BY organization_id, bucket, status, nps
HAVING (sum(n), sum(sat_n), sum(sat_sum), sum(completed_n), sum(sentiment_n), sum(sentiment_sum)) <> (0, 0, 0, 0, 0, 0);

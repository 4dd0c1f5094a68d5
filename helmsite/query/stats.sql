-- The aggregates of a run, from what each instance contributes.
--
-- In:  unit    see units.sql
--      member  (i, split, sub_split): the contexts of an instance; sub_split '' is all,
--              `dimension=value` an attribute
--      kind    m → aggregation
-- Out: one row per (m, split, sub_split, perturbation, computed_on, trial). Trial -1 is
--      the mean over the trials' values. stderr is clustered by instance: e is what one
--      instance adds to the error of the value (exact for means); it is 0 where all it
--      holds is rounding. is_even: all weights are equal, so that a ratio is a mean.

CREATE TABLE per_trial AS
SELECT
    m, split, sub_split, perturbation, computed_on, trial, aggregation,
    sum(w ORDER BY i) AS mass,
    CASE WHEN sum(w ORDER BY i) > 0 THEN
        CASE WHEN aggregation = 'geometric'
            THEN exp(sum(s ORDER BY i) / sum(w ORDER BY i))
            ELSE sum(s ORDER BY i) / sum(w ORDER BY i)
        END
    END AS value,
    bool_and(is_binary) FILTER (w > 0) AS is_binary,
    min(w) FILTER (w > 0) = max(w) AS is_even,
    count(*) FILTER (reason = '') AS n_scored,
    count(*) AS n_asked,
    count(*) FILTER (reason = 'failed') AS n_failed,
    count(*) FILTER (reason = 'not asked') AS n_unasked,
    count(*) FILTER (reason = 'not measurable') AS n_unmeasurable,
    count(*) FILTER (reason = 'nan') AS n_nan,
    count(*) FILTER (reason = 'unparsed') AS n_unparsed
FROM unit JOIN member USING (i) JOIN kind USING (m)
GROUP BY m, split, sub_split, perturbation, computed_on, trial, aggregation;

CREATE TABLE spans AS  -- which trials an aggregate spans, and how many have a value
SELECT m, split, sub_split, perturbation, computed_on, trial AS span, trial, 1 AS trials
FROM per_trial
UNION ALL
SELECT m, split, sub_split, perturbation, computed_on, -1, trial,
    count(value) OVER (PARTITION BY m, split, sub_split, perturbation, computed_on)
FROM per_trial;

CREATE TABLE spread AS
WITH error AS (
    SELECT
        m, split, sub_split, perturbation, computed_on, span, i,
        sum((s - value * w) / (mass * trials) ORDER BY trial) AS e,
        sum((abs(s) + abs(value * w)) / (mass * trials) ORDER BY trial) AS size
    FROM unit JOIN member USING (i)
        JOIN per_trial USING (m, split, sub_split, perturbation, computed_on, trial)
        JOIN spans USING (m, split, sub_split, perturbation, computed_on, trial)
    WHERE w > 0
    GROUP BY m, split, sub_split, perturbation, computed_on, span, i
)
SELECT
    m, split, sub_split, perturbation, computed_on, span,
    count(*) AS n,
    CASE WHEN max(abs(e)) <= 1e-13 * max(size) THEN 0
        ELSE sqrt(count(*) / (count(*) - 1) * sum(e * e ORDER BY i))
    END AS stderr
FROM error
GROUP BY m, split, sub_split, perturbation, computed_on, span;

SELECT
    m, split, sub_split, perturbation, computed_on, span AS trial,
    count(value) AS n_trials,
    sum(value ORDER BY per_trial.trial) AS total,
    sum(value * value ORDER BY per_trial.trial) AS total_squared,
    min(value) AS lowest,
    max(value) AS highest,
    coalesce(bool_and(is_binary), false) AS is_binary,
    coalesce(bool_and(is_even), true) AS is_even,
    coalesce(any_value(n), 0)::INTEGER AS n,
    any_value(stderr) AS stderr,
    sum(n_scored)::BIGINT AS n_scored,
    sum(n_asked)::BIGINT AS n_asked,
    sum(n_failed)::BIGINT AS n_failed,
    sum(n_unasked)::BIGINT AS n_unasked,
    sum(n_unmeasurable)::BIGINT AS n_unmeasurable,
    sum(n_nan)::BIGINT AS n_nan,
    sum(n_unparsed)::BIGINT AS n_unparsed
FROM per_trial
    JOIN spans USING (m, split, sub_split, perturbation, computed_on, trial)
    LEFT JOIN spread USING (m, split, sub_split, perturbation, computed_on, span)
GROUP BY m, split, sub_split, perturbation, computed_on, span
ORDER BY m, split, sub_split, perturbation, computed_on, span;

-- The rows that a metric of all instances is computed from: those with every input.
--
-- In:  score   see units.sql; key is the row's request, reference and completion index
--      input   (metric number p, place, m): the inputs of each such metric, in order
--      twin, member  see units.sql and stats.sql
-- Out: one row per (p, context, trial, instance, key); xs holds the inputs in order and
--      is NULL where one is missing, reason says why. row is the number of the first
--      input's score. Rows of one batch make one value.

WITH joined AS (
    SELECT
        p, perturbation, trial, i, key,
        CASE WHEN count(value) = any_value(inputs) THEN list(value ORDER BY place) END AS xs,
        min(row) FILTER (place = 0) AS row,
        CASE
            WHEN bool_or(missing = 'failed') THEN 'failed'
            WHEN bool_or(missing = 'not asked') THEN 'not asked'
            WHEN bool_or(missing = 'nan') THEN 'nan'
            WHEN bool_or(missing = 'unparsed') THEN 'unparsed'
            WHEN count(value) < any_value(inputs) THEN 'not measurable'
            ELSE ''
        END AS reason
    FROM score JOIN input USING (m)
    GROUP BY p, perturbation, trial, i, key
),
placed AS (
    SELECT p, '' AS perturbation, '' AS computed_on, trial, i, key, xs, row, reason
    FROM joined WHERE perturbation = ''
    UNION ALL
    SELECT p, perturbation, 'perturbed', trial, i, key, xs, row, reason
    FROM joined WHERE perturbation <> ''
    UNION ALL
    SELECT p, twin.perturbation, 'original', trial, i, key, xs, row, reason
    FROM joined JOIN twin USING (i) WHERE joined.perturbation = ''
)
SELECT
    p, split, sub_split, perturbation, computed_on, trial, i, xs, row, reason,
    dense_rank() OVER (
        ORDER BY p, split, sub_split, perturbation, computed_on, trial
    ) AS batch
FROM placed JOIN member USING (i)
ORDER BY p, split, sub_split, perturbation, computed_on, trial, i, key;

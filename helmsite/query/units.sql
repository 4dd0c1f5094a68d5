-- What each instance contributes to each aggregate of a run.
--
-- In:  score   one row per score: row (a canonical order), i (instance), perturbation,
--              trial, m (metric, scorer, origin), value, weight, missing
--      kind    m → aggregation, is_cost (lower is better)
--      twin    (i, perturbation): the perturbed versions that exist
--      family  (name, perturbation): what a family's worst case looks at, '' the original
-- Out: unit    one row per (m, perturbation, computed_on, trial, i); the value of an
--              aggregate is Σs / Σw, for geometric means exp(Σs / Σw).
--              reason '' = fully scored.

CREATE TABLE version AS
SELECT
    m, perturbation, trial, i, aggregation, is_cost,
    sum(
        CASE aggregation
            WHEN 'ratio' THEN value * weight
            WHEN 'geometric' THEN weight * ln(value)
            ELSE value
        END ORDER BY row
    ) AS s,
    coalesce(
        sum(CASE WHEN aggregation IN ('ratio', 'geometric') THEN weight ELSE 1 END
            ORDER BY row) FILTER (value IS NOT NULL),
        0
    ) AS w,
    CASE WHEN is_cost THEN max(value) ELSE min(value) END AS worst,
    count(value) = 1 AND bool_and(value IN (0, 1)) AS is_binary,
    CASE
        WHEN bool_or(missing = 'failed') THEN 'failed'
        WHEN bool_or(missing = 'not asked') THEN 'not asked'
        WHEN bool_or(missing = 'nan') THEN 'nan'
        WHEN bool_or(missing = 'unparsed') THEN 'unparsed'
        WHEN count(value) = 0 THEN 'not measurable'
        ELSE ''
    END AS reason
FROM score JOIN kind USING (m)
WHERE aggregation <> 'population'
GROUP BY m, perturbation, trial, i, aggregation, is_cost;

CREATE TABLE unit AS
WITH compared AS (
    -- a single perturbation: its versions and their originals
    SELECT twin.perturbation AS name, version.*
    FROM version JOIN twin
      ON twin.i = version.i AND version.perturbation IN ('', twin.perturbation)
    UNION ALL
    -- a family: every instance, changed or not
    SELECT family.name, version.*
    FROM version JOIN family USING (perturbation)
)
SELECT m, '' AS perturbation, '' AS computed_on, trial, i, s, w, is_binary, reason
FROM version WHERE perturbation = ''
UNION ALL
SELECT m, perturbation, 'perturbed', trial, i, s, w, is_binary, reason
FROM version WHERE perturbation <> ''
UNION ALL
SELECT m, twin.perturbation, 'original', trial, i, s, w, is_binary, reason
FROM version JOIN twin USING (i) WHERE version.perturbation = ''
UNION ALL
SELECT
    m, name, 'worst', trial, i,
    CASE
        WHEN bool_and(reason = '') AND is_cost THEN max(worst)
        WHEN bool_and(reason = '') THEN min(worst)
    END,
    CASE WHEN bool_and(reason = '') THEN 1 ELSE 0 END,
    bool_and(worst IN (0, 1)),
    coalesce(max(reason) FILTER (reason <> ''), '')
FROM compared WHERE aggregation <> 'geometric'
GROUP BY m, name, trial, i, is_cost
ORDER BY m, perturbation, computed_on, trial, i;

-- What fills each cell, and its value.
--
-- In:  wanted  (place, head, scenario, metric, split, perturbation, computed_on): the columns;
--              those of one head are shown as one
--      entry   every run, and every source, scenario, model and settings of results that
--              came without instances (`is_published`); see entries.sql
--      stat, reported: their numbers
--      $by     what a line is: 'line' (of a leaderboard), 'model' or 'run'. With 'run', of
--              results without instances those in the table `shown` (run_id) are there.
-- Of those that have the aggregate: the pinned method, then one with a value, then a run,
-- then the last checkpoint, then most instances asked, then the newest; of results without
-- instances those that were asked as most models of the scenario. A run's computed value
-- goes before a reported one, the unnamed scorer before others. Of named scorers of computed
-- values (detectors of toxicity) a head takes one alone, that of most models: no two of them
-- compare.
-- Out: one row per (place, line) with anything about the scenario; others lists the runs that
--      could have filled it, in the same order, and more_sources counts results without
--      instances that could.

WITH named AS (
    SELECT
        head, scorer,
        row_number() OVER (
            PARTITION BY head ORDER BY count(DISTINCT model) DESC, scorer
        ) AS choice
    FROM wanted
        JOIN entry USING (scenario)
        JOIN stat USING (run_id, metric, split, perturbation, computed_on)
    WHERE sub_split = '' AND origin = 'computed' AND scorer <> '' AND value IS NOT NULL
    GROUP BY head, scorer
),
wanted_by AS (
    SELECT wanted.*, coalesce(named.scorer, '') AS by
    FROM wanted LEFT JOIN (SELECT * FROM named WHERE choice = 1) AS named USING (head)
),
number AS (
    SELECT
        run_id, metric, scorer, origin, split, perturbation, computed_on,
        value, ci_low, ci_high, n_scored, n_asked, missing
    FROM stat WHERE sub_split = ''
    UNION ALL
    SELECT
        run_id, metric, scorer, 'reported', split, perturbation, computed_on,
        value, ci_low, ci_high, n_scored, n_asked, missing
    FROM reported WHERE sub_split = ''
),
offer AS (
    SELECT
        place, CASE $by WHEN 'run' THEN entry.run_id WHEN 'line' THEN line ELSE model END AS line,
        entry.run_id AS run_id, is_published, pinned, step, usual, alike, newest, n_instances,
        number.run_id IS NOT NULL AS is_held,
        value, number.origin, number.scorer, ci_low, ci_high, n_scored, n_asked, missing,
        row_number() OVER (
            PARTITION BY place, entry.run_id
            ORDER BY number.origin, (value IS NULL), number.scorer
        ) AS choice
    FROM wanted_by
        JOIN entry USING (scenario)
        LEFT JOIN number
            ON number.run_id = entry.run_id
            AND number.metric = wanted_by.metric
            AND number.split = wanted_by.split
            AND number.perturbation = wanted_by.perturbation
            AND number.computed_on = wanted_by.computed_on
            AND (number.origin <> 'computed' OR number.scorer IN ('', wanted_by.by))
    WHERE $by <> 'run' OR NOT is_published OR entry.run_id IN (SELECT run_id FROM shown)
),
ranked AS (
    SELECT *, row_number() OVER (
        PARTITION BY place, line
        ORDER BY is_held DESC, pinned DESC, (value IS NULL), is_published, step DESC,
            usual DESC, alike DESC, n_instances DESC, newest DESC, run_id
    ) AS rank
    FROM offer WHERE choice = 1
)
SELECT
    place, line,
    max(run_id) FILTER (rank = 1) AS chosen,
    bool_or(is_published) FILTER (rank = 1) AS is_published,
    max(is_held) FILTER (rank = 1) AS is_held,
    max(value) FILTER (rank = 1) AS value,
    max(origin) FILTER (rank = 1) AS origin,
    max(scorer) FILTER (rank = 1) AS scorer,
    max(ci_low) FILTER (rank = 1) AS ci_low,
    max(ci_high) FILTER (rank = 1) AS ci_high,
    max(n_scored) FILTER (rank = 1) AS n_scored,
    max(n_asked) FILTER (rank = 1) AS n_asked,
    max(missing) FILTER (rank = 1) AS missing,
    coalesce(
        list(run_id ORDER BY rank) FILTER (rank > 1 AND is_held AND NOT is_published), []
    ) AS others,
    count(*) FILTER (rank > 1 AND is_held AND is_published) AS more_sources
FROM ranked
GROUP BY place, line
ORDER BY place, line;

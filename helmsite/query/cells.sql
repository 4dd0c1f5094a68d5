-- The run that fills each cell, and its value.
--
-- In:  wanted  (place, head, scenario, metric, split, perturbation, computed_on): the columns;
--              those of one head are shown as one
--      entry   (run_id, scenario, model, pinned, newest): every run
--      run, stat  the cache
-- Of the runs that have the aggregate: the pinned method, then one with a value, then
-- most instances asked, then the newest. A run's computed value goes before a reported
-- one, the unnamed scorer before others. Of named scorers of computed values (detectors of
-- toxicity) a head takes one alone, that of most models: no two of them compare.
-- Out: one row per (place, model) with a run of the scenario; others lists the runs that
--      could have filled it, in the same order.

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
offer AS (
    SELECT
        place, CASE WHEN $by_run THEN entry.run_id ELSE model END AS model,
        entry.run_id AS run_id, pinned, newest, n_instances,
        stat.run_id IS NOT NULL AS is_held,
        value, stat.origin, stat.scorer, ci_low, ci_high, n_scored, n_asked, missing,
        row_number() OVER (
            PARTITION BY place, entry.run_id
            ORDER BY stat.origin, (value IS NULL), stat.scorer
        ) AS choice
    FROM wanted_by
        JOIN entry USING (scenario)
        JOIN run USING (run_id)
        LEFT JOIN (SELECT * FROM stat WHERE sub_split = '') AS stat
            ON stat.run_id = entry.run_id
            AND stat.metric = wanted_by.metric
            AND stat.split = wanted_by.split
            AND stat.perturbation = wanted_by.perturbation
            AND stat.computed_on = wanted_by.computed_on
            AND (stat.origin <> 'computed' OR stat.scorer IN ('', wanted_by.by))
),
ranked AS (
    SELECT *, row_number() OVER (
        PARTITION BY place, model
        ORDER BY is_held DESC, pinned DESC, (value IS NULL), n_instances DESC,
            newest DESC, run_id
    ) AS rank
    FROM offer WHERE choice = 1
)
SELECT
    place, model,
    max(run_id) FILTER (rank = 1) AS chosen,
    max(is_held) FILTER (rank = 1) AS is_held,
    max(value) FILTER (rank = 1) AS value,
    max(origin) FILTER (rank = 1) AS origin,
    max(scorer) FILTER (rank = 1) AS scorer,
    max(ci_low) FILTER (rank = 1) AS ci_low,
    max(ci_high) FILTER (rank = 1) AS ci_high,
    max(n_scored) FILTER (rank = 1) AS n_scored,
    max(n_asked) FILTER (rank = 1) AS n_asked,
    max(missing) FILTER (rank = 1) AS missing,
    coalesce(list(run_id ORDER BY rank) FILTER (rank > 1 AND is_held), []) AS others
FROM ranked
GROUP BY place, model
ORDER BY place, model;

-- The main number of each model under each of its settings, where it has several.
--
-- In:  main    (place, scenario, metric, split): each scenario's main number
--      entry, stat, reported: see entries.sql
-- Out: a row per model, settings and scenario, of a model that has a scenario's number under
--      several settings. Of equal settings one is taken as a cell takes it: with a value, of
--      a run, of most instances, the newest.
CREATE OR REPLACE TEMP TABLE alternative AS
WITH number AS (
    SELECT
        run_id, metric, split, value, ci_low, ci_high, n_scored, n_asked, origin, scorer
    FROM stat WHERE sub_split = '' AND perturbation = '' AND computed_on = ''
    UNION ALL
    SELECT
        run_id, metric, split, value, ci_low, ci_high, n_scored, n_asked, 'reported', scorer
    FROM reported WHERE sub_split = '' AND perturbation = '' AND computed_on = ''
),
offer AS (
    SELECT
        model, settings, place, step, way, run_id, is_published, value, ci_low, ci_high,
        n_scored, n_asked, number.origin
    FROM main
        JOIN entry USING (scenario)
        JOIN number USING (run_id, metric, split)
    WHERE value IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY model, settings, place
        ORDER BY is_published, n_instances DESC, newest DESC, number.origin, scorer, run_id
    ) = 1
),
several AS (
    SELECT model FROM offer
    GROUP BY model, place HAVING count(*) > 1
)
SELECT * FROM offer WHERE model IN (SELECT model FROM several);

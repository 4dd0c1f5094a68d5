-- Every number across trials that came without instances, file by file: what it is about,
-- then the fields of a Stat in their order.
SELECT
    source, split_part(run_id, '-', 2) AS entry, scenario, model, settings,
    metric, value, split, sub_split, perturbation, computed_on, scorer, -1 AS trial,
    stderr, ci_low, ci_high, n_scored, n_asked, 'reported' AS origin, missing, details
FROM published JOIN identified USING (path, scenario, model, settings, source_file)
ORDER BY ALL;

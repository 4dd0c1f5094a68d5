-- The rows of results without instances, by the id of their entry.
--
-- In:  published, identified
--      main_split (scenario, main_split): what a split means that is not told
CREATE OR REPLACE TEMP TABLE reported AS
SELECT
    run_id, metric, scorer,
    CASE WHEN split = '' THEN main_split ELSE split END AS split,
    sub_split, perturbation, computed_on, value, ci_low, ci_high, n_scored, n_asked, missing
FROM published
    JOIN identified USING (path, scenario, model, settings, source_file)
    JOIN main_split USING (scenario);

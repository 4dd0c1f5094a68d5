-- The unperturbed values of each run's main metric, by split and sub-split.
--
-- In:  main   (scenario, metric)
--      entry  (run_id, scenario, ...): every run
-- A run's computed value goes before a reported one, the unnamed scorer before others.

SELECT run_id, split, sub_split, value, ci_low, ci_high, n_scored, n_asked, stat.origin
FROM stat JOIN entry USING (run_id) JOIN main USING (scenario, metric)
WHERE perturbation = ''
QUALIFY row_number() OVER (
    PARTITION BY run_id, split, sub_split ORDER BY stat.origin, (value IS NULL), scorer
) = 1
ORDER BY run_id, split, sub_split;

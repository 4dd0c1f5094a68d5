-- One metric's unperturbed values of some runs, by split and sub-split.
--
-- A run's computed value goes before a reported one, the unnamed scorer before others.

SELECT run_id, split, sub_split, value, ci_low, ci_high, n_scored, n_asked, origin
FROM stat
WHERE metric = $metric AND perturbation = '' AND list_contains($runs, run_id)
QUALIFY row_number() OVER (
    PARTITION BY run_id, split, sub_split ORDER BY origin, (value IS NULL), scorer
) = 1
ORDER BY split, sub_split, run_id;

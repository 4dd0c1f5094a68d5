-- Which aggregates the runs of a scenario hold, whether any of them has a value, and on
-- how many observations it rests at most.
SELECT
    scenario, metric, split, perturbation, computed_on,
    max(n_asked) AS n_asked, bool_or(value IS NOT NULL) AS has_value
FROM stat JOIN entry USING (run_id)
WHERE sub_split = ''
GROUP BY scenario, metric, split, perturbation, computed_on
ORDER BY ALL;

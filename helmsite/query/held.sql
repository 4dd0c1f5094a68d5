-- Which aggregates any run of a scenario has a value for, and on how many observations.
SELECT scenario, metric, split, perturbation, computed_on, max(n_asked) AS n_asked
FROM stat JOIN entry USING (run_id)
WHERE sub_split = '' AND value IS NOT NULL
GROUP BY scenario, metric, split, perturbation, computed_on
ORDER BY ALL;

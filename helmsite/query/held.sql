-- Which aggregates a scenario's runs and results without instances hold, whether any of
-- them has a value, and how many models have.
SELECT scenario, metric, split, perturbation, computed_on,
    bool_or(value IS NOT NULL) AS has_value,
    count(DISTINCT model) FILTER (value IS NOT NULL) AS models
FROM (
    SELECT run_id, metric, split, perturbation, computed_on, value
    FROM stat WHERE sub_split = ''
    UNION ALL
    SELECT run_id, metric, split, perturbation, computed_on, value
    FROM reported WHERE sub_split = ''
) JOIN entry USING (run_id)
GROUP BY scenario, metric, split, perturbation, computed_on
ORDER BY ALL;

-- Which metrics and models a batch of results without instances has, by scenario.
SELECT
    path, scenario, list(DISTINCT metric ORDER BY metric) AS metrics,
    list(DISTINCT model ORDER BY model) AS models
FROM published
GROUP BY path, scenario
ORDER BY path, scenario;

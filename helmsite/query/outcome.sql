-- What each unperturbed instance of a run contributes to one metric, trials together.
--
-- In:  run_score, run_instance  columns of a run's scores and instances
-- Parameters: $metric, $split, $weighted (a ratio: values count by their weight)
-- A computed score goes before a reported one, the unnamed scorer before others.

WITH series AS (
    SELECT scorer, origin FROM run_score
    WHERE metric = $metric ORDER BY origin, scorer LIMIT 1
)
SELECT
    (row_number() OVER (ORDER BY position, instance_id) - 1)::INTEGER AS place,
    instance_id, content_hash,
    sum(
        CASE WHEN $weighted THEN value * coalesce(weight, 1) ELSE value END
        ORDER BY trial, request_index, reference_index, completion_index
    ) AS s,
    sum(
        CASE WHEN $weighted THEN coalesce(weight, 1) ELSE 1 END
        ORDER BY trial, request_index, reference_index, completion_index
    ) FILTER (value IS NOT NULL) AS w,
    count(value) AS n
FROM run_score
    JOIN series USING (scorer, origin)
    JOIN run_instance USING (instance_id, perturbation)
WHERE metric = $metric AND split = $split AND perturbation = ''
GROUP BY position, instance_id, content_hash
HAVING w > 0
ORDER BY place;

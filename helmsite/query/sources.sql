-- Each file that results without instances were found in, and how much it says.
SELECT
    path, source_file, min(source_sha256) AS source_sha256, count(value) AS n_values,
    count(DISTINCT scenario) AS n_scenarios, list(DISTINCT model ORDER BY model) AS models
FROM published
GROUP BY path, source_file
ORDER BY path, source_file;

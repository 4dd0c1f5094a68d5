-- On how many observations the splits of a scenario rest at most.
SELECT scenario, split, max(n_asked) AS n_asked
FROM (
    SELECT scenario, split, n_asked
    FROM stat JOIN run_entry USING (run_id) WHERE sub_split = ''
    UNION ALL
    SELECT scenario, split, n_asked FROM published WHERE sub_split = ''
)
GROUP BY scenario, split
ORDER BY ALL;

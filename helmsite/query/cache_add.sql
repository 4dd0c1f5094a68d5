-- In: fresh_run (run_id, digest, n_instances), fresh_stat (stats.parquet with run_id)
INSERT INTO run
SELECT
    run_id, digest, n_instances,
    coalesce((SELECT max(trial) + 1 FROM fresh_stat s WHERE s.run_id = r.run_id), 0)
FROM fresh_run r ORDER BY run_id;
INSERT INTO stat
SELECT
    run_id, metric, scorer, origin, split, sub_split, perturbation, computed_on,
    value, stderr, ci_low, ci_high, n_scored, n_asked, missing
FROM fresh_stat WHERE trial = -1
ORDER BY ALL;

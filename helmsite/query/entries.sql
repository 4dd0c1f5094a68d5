-- Everything that may fill a cell.
--
-- In:  run_entry (run_id, scenario, model, settings, variant, step, way, pinned, newest):
--                every run
--      source    (source, path, source_file): every file of results without instances
--      setting   (settings, variant, step, shots, way): what their settings say
--      published, run: the cache
-- Out: entry     one row per run, and one per source, scenario, model and settings of the
--                others, whose run_id is the source's key and a hash of the rest.
--                `usual` counts the models of the scenario that were asked with as many
--                shots, `alike` those that were asked in the very same way.
--      identified  results without instances by that id

CREATE OR REPLACE TEMP TABLE identified AS
SELECT
    path, scenario, model, settings, source_file, source,
    source || '-' || left(md5(concat_ws(
        ':', length(scenario), scenario, length(model), model, settings
    )), 12) AS run_id,
    max(n_asked) AS n_instances
FROM published JOIN source USING (path, source_file)
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE entry AS
WITH given AS (SELECT * FROM identified JOIN setting USING (settings)),
by_shots AS (
    SELECT scenario, shots, count(DISTINCT model) AS usual
    FROM given GROUP BY scenario, shots
),
by_way AS (
    SELECT scenario, way, count(DISTINCT model) AS alike
    FROM given GROUP BY scenario, way
),
every AS (
    SELECT
        run_id, scenario, model, settings, variant, false AS is_published, pinned, newest,
        step, way, n_instances, 0 AS usual, 0 AS alike
    FROM run_entry JOIN run USING (run_id)
    UNION ALL
    SELECT
        run_id, scenario, model, settings, variant, true, false, 0, step, way, n_instances,
        usual, alike
    FROM given JOIN by_shots USING (scenario, shots) JOIN by_way USING (scenario, way)
)
SELECT
    *,
    CASE WHEN variant = '' THEN model ELSE model || chr(1) || variant END AS line
FROM every;

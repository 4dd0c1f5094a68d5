-- The rows of one model, or of one scenario's number; NULL means all.
SELECT
    model, settings, place, step, way, run_id, is_published, value, ci_low, ci_high,
    n_scored, n_asked, origin
FROM alternative
WHERE coalesce(model = $model, true) AND coalesce(place = $place, true)
ORDER BY ALL;

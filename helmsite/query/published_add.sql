-- The rows of a batch, with an interval from the standard error where the source gives none.
--
-- In:  fresh_published (the columns of published/<batch>.parquet)
--      quantile (n_scored, t): Student's quantile for each number of observations; the normal
--               one where it is not known
-- Shares stay between 0 and 1.
INSERT INTO published
WITH reached AS (
    SELECT
        *, coalesce(t, $z) * stderr AS reach,
        CASE WHEN list_contains($shares, metric) THEN 0 ELSE '-infinity'::DOUBLE END AS least,
        CASE WHEN list_contains($shares, metric) THEN 1 ELSE 'infinity'::DOUBLE END AS most
    FROM fresh_published LEFT JOIN quantile USING (n_scored)
    WHERE trial = -1
)
SELECT
    $path, scenario, model, settings, source_file, source_sha256,
    metric, scorer, split, sub_split, perturbation, computed_on, value, stderr,
    CASE
        WHEN ci_low IS NOT NULL AND ci_high IS NOT NULL THEN ci_low
        WHEN reach > 0 AND value IS NOT NULL THEN least(value, greatest(value - reach, least))
    END,
    CASE
        WHEN ci_low IS NOT NULL AND ci_high IS NOT NULL THEN ci_high
        WHEN reach > 0 AND value IS NOT NULL THEN greatest(value, least(value + reach, most))
    END,
    n_scored, n_asked, missing, details
FROM reached
ORDER BY ALL;

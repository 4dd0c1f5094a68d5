-- The tables of the cache. stat keeps the aggregates across trials (trial -1) alone.

CREATE TABLE IF NOT EXISTS cache_format (format VARCHAR);
CREATE TABLE IF NOT EXISTS run (
    run_id VARCHAR,
    digest VARCHAR,        -- of the manifest
    n_instances INTEGER,   -- unperturbed
    n_trials INTEGER
);
CREATE TABLE IF NOT EXISTS stat (
    run_id VARCHAR, metric VARCHAR, scorer VARCHAR, origin VARCHAR,
    split VARCHAR, sub_split VARCHAR, perturbation VARCHAR, computed_on VARCHAR,
    value DOUBLE, stderr DOUBLE, ci_low DOUBLE, ci_high DOUBLE,
    n_scored INTEGER, n_asked INTEGER, missing VARCHAR
);
-- A run's number in each resample of its instances: 1000 little-endian doubles.
CREATE TABLE IF NOT EXISTS drawn (
    run_id VARCHAR, metric VARCHAR, split VARCHAR, draws BLOB
);
-- Results that came without instances: their batches, and the rows across trials.
CREATE TABLE IF NOT EXISTS batch (path VARCHAR, digest VARCHAR);
CREATE TABLE IF NOT EXISTS published (
    path VARCHAR, scenario VARCHAR, model VARCHAR, settings VARCHAR,
    source_file VARCHAR, source_sha256 VARCHAR,
    metric VARCHAR, scorer VARCHAR, split VARCHAR, sub_split VARCHAR,
    perturbation VARCHAR, computed_on VARCHAR,
    value DOUBLE, stderr DOUBLE, ci_low DOUBLE, ci_high DOUBLE,
    n_scored INTEGER, n_asked INTEGER, missing VARCHAR, details VARCHAR
);

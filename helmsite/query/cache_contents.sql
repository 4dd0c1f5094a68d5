-- Everything that a database holds, with the statement that made it (columns, defaults,
-- generated columns): equal to that of a new cache, or the file is not one.
SELECT 'table' AS kind, schema_name AS place, table_name AS name, sql FROM duckdb_tables()
UNION ALL SELECT 'view', schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal
UNION ALL SELECT 'index', schema_name, index_name, sql FROM duckdb_indexes()
UNION ALL SELECT 'sequence', schema_name, sequence_name, sql FROM duckdb_sequences()
UNION ALL SELECT 'type', schema_name, type_name, NULL FROM duckdb_types() WHERE NOT internal
UNION ALL
SELECT 'macro', schema_name, function_name, macro_definition
FROM duckdb_functions() WHERE NOT internal
UNION ALL SELECT 'schema', schema_name, '', NULL FROM duckdb_schemas() WHERE NOT internal
ORDER BY ALL;

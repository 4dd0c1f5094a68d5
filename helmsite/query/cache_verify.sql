-- Reads every value once, so that DuckDB compares the checksum of every block.
SELECT
    (SELECT bit_xor(hash(run)) FROM run),
    (SELECT bit_xor(hash(stat)) FROM stat),
    (SELECT bit_xor(hash(drawn)) FROM drawn),
    (SELECT bit_xor(hash(batch)) FROM batch),
    (SELECT bit_xor(hash(published)) FROM published);

DELETE FROM run WHERE run_id IN (SELECT run_id FROM stale);
DELETE FROM stat WHERE run_id IN (SELECT run_id FROM stale);
DELETE FROM drawn WHERE run_id IN (SELECT run_id FROM stale);

SELECT draws FROM drawn WHERE run_id = ? AND metric = ? AND split = ?;

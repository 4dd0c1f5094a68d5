SELECT run_id, draws FROM drawn
WHERE list_contains($runs, run_id) AND metric = $metric AND split = $split;

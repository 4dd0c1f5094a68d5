-- What each instance of one context contributes to one series, trial by trial.
SELECT trial, i, s, w
FROM unit JOIN member USING (i)
WHERE m = $m AND split = $split AND sub_split = $sub_split
    AND perturbation = $perturbation AND computed_on = $computed_on AND w > 0
ORDER BY trial, i;

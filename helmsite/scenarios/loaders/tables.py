"""Tables read by pandas, as HELM reads them: numbers where a column has but numbers."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from helmsite.errors import ScenarioError, suggest

if TYPE_CHECKING:
    import pandas as pd

    from helmsite.scenarios.files import Files


def named(files: Files, place: str, name: str) -> str:
    """Return the key of a file of a folder, in whichever folder its archive had it.

    Raises:
        ScenarioError: there is no file of that name.
    """
    keys = [key for key, path in files.paths(place) if path.name == name]
    if not keys:
        there = [path.name for _, path in files.paths(place)]
        raise ScenarioError(
            f"{place}: there is no file {name!r}.{suggest(name, there)}",
            f"Files there: {', '.join(there)}.",
        )
    return keys[0]


def parsed(text: str, name: str, columns: tuple[str, ...], **how: Any) -> pd.DataFrame:
    """Return a table that has these columns; `how` goes to pandas.read_csv.

    Raises:
        ScenarioError: the text is not CSV, or a column is missing.
    """
    import pandas as pd

    file = io.StringIO(text, newline="")
    try:
        table: pd.DataFrame = pd.read_csv(file, **how)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ScenarioError(
            f"{name}: not valid CSV: {str(error).rstrip('.')}.", "Was it cut?"
        ) from error
    there = [str(column) for column in table.columns]
    for column in columns:
        if column not in there:
            raise ScenarioError(
                f"{name}: there is no column {column!r}.{suggest(column, there)}",
                f"Columns there: {', '.join(there)}.",
            )
    return table

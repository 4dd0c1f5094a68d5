"""Files from the network: mirrors in order, resumed, verified, never half there.

`Fetcher` brings one file to one place; `hub` knows the addresses of datasets on the
Hugging Face hub, `unpack` takes members out of archives.
"""

from helmsite.fetching import hub
from helmsite.fetching.download import Fetcher, Received, keep, received
from helmsite.fetching.errors import FetchError, OfflineError
from helmsite.fetching.unpack import archive_suffix, extract

__all__ = [
    "FetchError",
    "Fetcher",
    "OfflineError",
    "Received",
    "archive_suffix",
    "extract",
    "hub",
    "keep",
    "received",
]

"""Files come whole, right and only once, whatever servers, disks and archives do."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from helmsite.fetching import (
    Fetcher,
    FetchError,
    OfflineError,
    download,
    extract,
    received,
)
from tests.file_server import Answer, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.file_server import Server

DATA = bytes(range(256)) * 40  # 10,240 bytes
SHA = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    yield from serving()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def fetcher(pauses: list[float]) -> Fetcher:
    return Fetcher(offline=False, pause=pauses.append, timeout=5)


def beside(target: Path) -> set[str]:
    return {path.name for path in target.parent.iterdir()}


def test_a_file_comes_with_where_it_is_from(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(DATA, headers={"X-Repo-Commit": "c0ffee"})
    told: list[tuple[str, int, int | None]] = []
    fetcher.progress = lambda *seen: told.append(seen)
    found = fetcher.fetch([f"{server.url}/a"], tmp_path / "sub" / "a.bin", SHA)
    assert (tmp_path / "sub" / "a.bin").read_bytes() == DATA
    assert found.sha256 == SHA
    assert (found.bytes, found.revision) == (len(DATA), "c0ffee")
    assert received(tmp_path / "sub" / "a.bin") == found
    assert told[0] == ("a.bin", 0, len(DATA))
    assert told[-1] == ("a.bin", len(DATA), len(DATA))
    names = {"a.bin", "a.bin.origin.json", "a.bin.lock"}
    assert beside(tmp_path / "sub" / "a.bin") == names


def test_what_is_there_is_not_fetched_again(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(DATA)
    first = fetcher.fetch([f"{server.url}/a"], tmp_path / "a", SHA)
    assert fetcher.fetch([f"{server.url}/a"], tmp_path / "a", SHA) == first
    assert len(server.asked) == 1


def test_the_next_mirror_is_asked(
    server: Server, fetcher: Fetcher, tmp_path: Path, pauses: list[float]
) -> None:
    server.answers["/b"] = Answer(DATA)
    found = fetcher.fetch([f"{server.url}/a", f"{server.url}/b"], tmp_path / "a")
    assert found.url == f"{server.url}/b"
    assert server.paths() == ["/a", "/b"]
    assert pauses == []


def test_all_mirrors_and_their_faults_are_named(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/locked"] = Answer(codes=[403])
    server.answers["/page"] = Answer(b"<html>Sign in</html>", kind="text/html")
    urls = [f"{server.url}/{name}" for name in ("gone", "locked", "page")]
    with pytest.raises(FetchError) as caught:
        fetcher.fetch(urls, tmp_path / "a.csv")
    said = caught.value.message
    assert "/gone: answers 404" in said
    assert "/locked: answers 403" in said
    assert "HF_TOKEN" in said
    assert "/page: answers with a web page" in said
    assert caught.value.hint == "Try again later."


def test_a_fault_that_passes_is_waited_out(
    server: Server, fetcher: Fetcher, tmp_path: Path, pauses: list[float]
) -> None:
    server.answers["/a"] = Answer(DATA, codes=[503, 429, 500])
    fetcher.fetch([f"{server.url}/a"], tmp_path / "a", SHA)
    assert len(server.asked) == 4
    assert pauses == [0.0, 0.0, 0.0]  # Retry-After: 0


def test_a_fault_that_stays_ends(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(DATA, codes=[503] * 9)
    with pytest.raises(FetchError, match=r"answers 503.*\(5 tries\)"):
        fetcher.fetch([f"{server.url}/a"], tmp_path / "a")
    assert len(server.asked) == download.TRIES


def test_a_cut_connection_goes_on_where_it_broke(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(DATA, cuts=[4000, 3000])
    fetcher.fetch([f"{server.url}/a"], tmp_path / "a", SHA)
    assert server.ranges() == ["", "bytes=4000-", "bytes=7000-"]
    assert (tmp_path / "a").read_bytes() == DATA


def test_a_server_without_ranges_starts_again(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(DATA, cuts=[4000], ranges=False)
    fetcher.fetch([f"{server.url}/a"], tmp_path / "a", SHA)
    assert (tmp_path / "a").read_bytes() == DATA


def test_a_file_that_changed_meanwhile_is_not_mixed(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    answer = server.answers["/a"] = Answer(b"x" * 9000, cuts=[4000])

    def change(_: float) -> None:
        answer.data, answer.tag = DATA, '"v2"'

    fetcher.pause = change
    fetcher.fetch([f"{server.url}/a"], tmp_path / "a")
    assert server.asked[1][1]["if-range"] == '"v1"'
    assert (tmp_path / "a").read_bytes() == DATA


def test_a_part_that_is_too_long_is_dropped(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(DATA)
    (tmp_path / "a.part").write_bytes(DATA + b"more")
    url = f"{server.url}/a"
    about = msgspec.json.encode({"url": url, "version": '"v1"'})
    (tmp_path / "a.part.json").write_bytes(about)
    fetcher.fetch([url], tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == DATA


def test_a_part_of_another_address_is_not_used(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(DATA)
    (tmp_path / "a.part").write_bytes(b"other")
    about = {"url": "http://elsewhere/a", "version": '"v1"'}
    (tmp_path / "a.part.json").write_bytes(msgspec.json.encode(about))
    fetcher.fetch([f"{server.url}/a"], tmp_path / "a")
    assert server.ranges() == [""]
    assert (tmp_path / "a").read_bytes() == DATA


def test_another_file_than_promised_is_refused(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(b"something else")
    with pytest.raises(FetchError, match="sends another file: its SHA-256 is"):
        fetcher.fetch([f"{server.url}/a"], tmp_path / "a", SHA)
    assert beside(tmp_path / "a") == {"a.lock"}


def test_a_wrong_mirror_does_not_hide_the_right_one(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(b"something else")
    server.answers["/b"] = Answer(DATA)
    urls = [f"{server.url}/a", f"{server.url}/b"]
    assert fetcher.fetch(urls, tmp_path / "a", SHA).url == urls[1]


def test_redirects_are_followed_and_tokens_stay_home(
    server: Server, fetcher: Fetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    for other in serving():
        server.answers["/a"] = Answer(to="/moved")
        server.answers["/moved"] = Answer(to=f"{other.url}/cdn")
        other.answers["/cdn"] = Answer(DATA)
        found = fetcher.fetch([f"{server.url}/a"], tmp_path / "a", SHA)
        assert found.url == f"{server.url}/a"
        sent = [headers.get("authorization") for _, headers in server.asked]
        assert sent == ["Bearer hf_secret"] * 2
        assert "authorization" not in other.asked[0][1]
    written = [path.read_bytes() for path in tmp_path.iterdir()]
    assert not any(b"hf_secret" in data or b"/cdn" in data for data in written)


def test_a_token_goes_to_no_other_host(
    server: Server, fetcher: Fetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    server.answers["/a"] = Answer(DATA)
    fetcher.fetch([f"{server.url}/a"], tmp_path / "a")
    assert "authorization" not in server.asked[0][1]


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("file:///etc/passwd", "is not allowed"),
        ("ftp://127.0.0.1/a", "is no http or https address"),
        ("http://169.254.169.254/latest", "this network's own machinery"),
        ("/a", "redirect"),
    ],
)
def test_redirects_lead_to_the_web_alone(
    to: str, why: str, server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(to=to)
    with pytest.raises(FetchError, match=why):
        fetcher.fetch([f"{server.url}/a"], tmp_path / "a")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "a.csv", "http://169.254.169.254/", "http://u:p@h/"]
)
def test_no_address_but_of_the_web(url: str, fetcher: Fetcher, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"is no http|machinery|has a password"):
        fetcher.fetch([url], tmp_path / "a")


def test_a_silent_server_is_given_up(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(DATA, pause=0.7)
    fetcher.timeout = 0.2
    began = time.monotonic()
    with pytest.raises(FetchError, match="does not answer in time"):
        fetcher.fetch([f"{server.url}/a"], tmp_path / "a")
    assert time.monotonic() - began < 10


def test_nobody_there(fetcher: Fetcher, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="the connection failed: Connection refused"):
        fetcher.fetch(["http://127.0.0.1:9/a"], tmp_path / "a")


@pytest.mark.parametrize("no_length", [False, True])
def test_too_much_is_refused(
    no_length: bool, server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    server.answers["/a"] = Answer(DATA, no_length=no_length)
    fetcher.largest = 5000
    with pytest.raises(FetchError, match="more than 5000"):
        fetcher.fetch([f"{server.url}/a"], tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_disk_that_has_too_little_room_is_told_beforehand(
    server: Server,
    fetcher: Fetcher,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server.answers["/a"] = Answer(DATA)
    monkeypatch.setattr(download, "LEFT_FREE", 2**60)
    with pytest.raises(FetchError, match="the disk is full: 10240 bytes needed"):
        fetcher.fetch([f"{server.url}/a"], tmp_path / "a")


def test_a_disk_that_fills_up_is_a_clean_error(
    server: Server, fetcher: Fetcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    server.answers["/a"] = Answer(DATA)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FetchError, match="the disk is full: No space left"):
        fetcher.fetch([f"{server.url}/a"], tmp_path / "a")
    assert beside(tmp_path / "a") == {"a.lock"}  # what filled it is gone


def test_a_folder_that_cannot_be_written(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match="cannot be written"):
        fetcher.fetch([f"{server.url}/a"], tmp_path / "file" / "a")


def test_offline_is_offline(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["/a"] = Answer(DATA)
    for fetcher in (Fetcher(offline=True), Fetcher()):
        with pytest.raises(OfflineError):
            fetcher.fetch([f"{server.url}/a"], tmp_path / "a")
    assert server.asked == []
    monkeypatch.setenv("HELMSITE_OFFLINE", "0")
    Fetcher().fetch([f"{server.url}/a"], tmp_path / "a")


CHILD = """
import sys
from pathlib import Path
from helmsite.fetching import Fetcher
Fetcher(offline=False).fetch([sys.argv[1]], Path(sys.argv[2]))
"""


def child(url: str, target: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, url, str(target)],
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
    )


def test_two_processes_do_not_clash(server: Server, tmp_path: Path) -> None:
    server.answers["/a"] = Answer(DATA, pause=0.05)
    both = [child(f"{server.url}/a", tmp_path / "a") for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    for process in both:
        assert process.stderr
        process.stderr.close()
    assert (tmp_path / "a").read_bytes() == DATA
    assert server.paths() == ["/a"]


def test_an_interrupted_download_goes_on_later(
    server: Server, fetcher: Fetcher, tmp_path: Path
) -> None:
    answer = server.answers["/a"] = Answer(bytes(3_000_000), pause=0.005)
    process = child(f"{server.url}/a", tmp_path / "a")
    part = tmp_path / "a.part"
    until = time.monotonic() + 30
    while not (part.exists() and part.stat().st_size) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert not (tmp_path / "a").exists()
    there = part.stat().st_size
    assert 0 < there < 3_000_000
    answer.pause = 0
    fetcher.fetch([f"{server.url}/a"], tmp_path / "a")
    assert server.ranges()[-1] == f"bytes={there}-"
    assert (tmp_path / "a").read_bytes() == bytes(3_000_000)


MEMBERS = {"x/data/a/1.txt": b"one", "x/data/b/2.txt": b"two", "x/data/readme": b"?"}


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def tarred(path: Path, members: dict[str, bytes], mode: Any = "w") -> Path:
    with tarfile.open(path, mode) as file:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return path


def zst(path: Path, members: dict[str, bytes]) -> Path:
    import pyarrow as pa

    plain = tarred(path.with_suffix(""), members)
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(plain.read_bytes())
    return path


MAKERS: dict[str, Callable[[Path, dict[str, bytes]], Path]] = {
    "a.zip": zipped,
    "a.tar": tarred,
    "a.tar.gz": lambda path, members: tarred(path, members, "w:gz"),
    "a.tgz": lambda path, members: tarred(path, members, "w:gz"),
    "a.tar.bz2": lambda path, members: tarred(path, members, "w:bz2"),
    "a.tar.xz": lambda path, members: tarred(path, members, "w:xz"),
    "a.tar.zst": zst,
}


@pytest.mark.parametrize("name", MAKERS)
def test_members_are_taken_out(name: str, tmp_path: Path) -> None:
    archive = MAKERS[name](tmp_path / name, MEMBERS)
    extract(archive, "x/data/a/1.txt", tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == b"one"
    extract(archive, "x/data/*/*.txt", tmp_path / "all")
    found = {
        p.relative_to(tmp_path / "all").as_posix()
        for p in (tmp_path / "all").rglob("*.*")
    }
    assert found == {"a/1.txt", "b/2.txt"}
    extract(archive, "x/**/*.txt", tmp_path / "deep")
    assert (tmp_path / "deep" / "data" / "b" / "2.txt").read_bytes() == b"two"


def test_a_member_that_is_not_there(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", MEMBERS)
    with pytest.raises(FetchError, match=r"has no member x/c\.txt") as caught:
        extract(archive, "x/c.txt", tmp_path / "c")
    assert "x/data/a/1.txt" in caught.value.hint
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("name", ["../evil.txt", "/evil.txt", "x/../../evil.txt"])
@pytest.mark.parametrize("maker", [zipped, tarred])
def test_a_member_that_leads_out_is_refused(
    name: str, maker: Callable[[Path, dict[str, bytes]], Path], tmp_path: Path
) -> None:
    inner = tmp_path / "in"
    inner.mkdir()
    archive = maker(inner / "a.bin", {name: b"evil"})
    with pytest.raises(FetchError, match=r"leads out of its folder|has no member"):
        extract(archive, "**/*.txt", inner / "all")
    assert not (tmp_path / "evil.txt").exists()
    assert not (inner / "all").exists()


def test_links_and_devices_are_never_made(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as file:
        for name, kind in (
            *(("d/link.txt", tarfile.SYMTYPE), ("d/hard.txt", tarfile.LNKTYPE)),
            *(("d/device.txt", tarfile.CHRTYPE), ("d/pipe.txt", tarfile.FIFOTYPE)),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            file.addfile(info)
        info = tarfile.TarInfo("d/plain.txt")
        info.size = 2
        file.addfile(info, io.BytesIO(b"ok"))
    extract(path, "d/*.txt", tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["plain.txt"]
    with pytest.raises(FetchError, match="has no member"):
        extract(path, "d/link.txt", tmp_path / "link")


def test_links_in_zips_are_not_made(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        info = zipfile.ZipInfo("d/link.txt")
        info.external_attr = 0o120777 << 16
        file.writestr(info, "/etc/passwd")
    with pytest.raises(FetchError, match="has no member"):
        extract(tmp_path / "a.zip", "d/link.txt", tmp_path / "link")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_a_bomb_does_not_fill_the_disk(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from helmsite.fetching import unpack

    monkeypatch.setattr(unpack, "GROWTH_ALLOWED", 10_000)
    monkeypatch.setattr(unpack, "RATIO", 10)
    archive = MAKERS[name](tmp_path / name, {"a.txt": bytes(5_000_000)})
    with pytest.raises(FetchError, match="unpacks to more than"):
        extract(archive, "a.txt", tmp_path / "a.txt")
    assert beside(tmp_path / "a.txt") == {name, "a.txt.lock"}


def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from helmsite.fetching import unpack

    monkeypatch.setattr(unpack, "MOST_MEMBERS", 2)
    archive = zipped(tmp_path / "a.zip", MEMBERS)
    with pytest.raises(FetchError, match="more than 2 members"):
        extract(archive, "x/**/*", tmp_path / "all")


@pytest.mark.parametrize("name", MAKERS)
def test_a_damaged_archive_is_named(name: str, tmp_path: Path) -> None:
    big = {f"x/{n}": os.urandom(3000) for n in range(20)}
    archive = MAKERS[name](tmp_path / name, big)
    archive.write_bytes(archive.read_bytes()[:20_000])
    with pytest.raises(FetchError, match=f"{name}: cannot be unpacked"):
        extract(archive, "x/*", tmp_path / "all")
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member_is_no_fault_of_the_program(
    packing: int, tmp_path: Path
) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", packing) as file:
        file.writestr("x", bytes(range(256)) * 40)
    data = archive.read_bytes()
    archive.write_bytes(data[:50] + b"?" * 40 + data[90:])
    with pytest.raises(FetchError, match=r"a\.zip: cannot be unpacked: \w"):
        extract(archive, "x", tmp_path / "x")


def test_what_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(b"not at all")
    with pytest.raises(FetchError, match=r"a\.tar: cannot be unpacked"):
        extract(tmp_path / "a.tar", "x", tmp_path / "x")

"""Credentials are found in what goes out, and named without being shown."""

from __future__ import annotations

import html
import json
import random
import string
import time
from urllib.parse import quote

import pytest

from helmsite.render.secrets import Secrets
from helmsite.render.tokens import script_json
from helmsite.schema.credentials import is_varied

ALNUM = string.ascii_letters + string.digits
HEX = string.hexdigits[:16]
URL64 = ALNUM + "_-"


def made(start: str, length: int, letters: str = ALNUM, seed: int = 1) -> str:
    """A key in a known form: put together here, so that no file holds one."""
    rng = random.Random(f"{start}{seed}")
    return start + "".join(rng.choice(letters) for _ in range(length))


KEYS = {
    "an Anthropic key": made("sk-" + "ant-api03-", 95, ALNUM),
    "an OpenAI key": made("sk-" + "proj-", 120, URL64) + "A",
    "an OpenRouter key": made("sk-" + "or-v1-", 64, HEX),
    "an API key": "sk-" + "4" + made("", 47),
    "a Hugging Face token": made("hf" + "_", 34),
    "a GitHub token": made("gh" + "p_", 36),
    "a GitLab token": made("gl" + "pat-", 20),
    "an AWS access key": made("AK" + "IA", 16, string.ascii_uppercase + "234567"),
    "a Google API key": made("AI" + "za", 35),
    "a Slack token": made("xo" + "xb-482915730264-", 24),
    "a Groq key": made("gs" + "k_", 52),
    "a Stripe key": made("sk" + "_live_", 24),
    "a signed token (JWT)": ".".join(
        ("ey" + made("J", 33), "ey" + made("J", 80), made("", 43))
    ),
}
PEM = (
    "-----BEGIN RSA PRIVATE " + "KEY-----\n" + made("MII", 61, ALNUM + "+/") + "\n"
    "-----END RSA PRIVATE " + "KEY-----\n"
)
PAGE = "<p>The answer is {} and so on.</p>"


def kinds(text: str | bytes, secrets: Secrets | None = None) -> list[str]:
    found = (secrets or Secrets({})).find(text)
    return [what.partition(" (fingerprint")[0] for what in found]


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize(
    "page",
    [PAGE, '{{"text":"a\\n{}\\nb"}}', "{}", "Bearer {}\n", "KEY={};", "日本語{}。",
     '"\\u003c{}\\u003e"', "?key%3D{}&", "[0m{}\x1b[0m", "MY_KEY_{}.", "--{} ", "_{}."],
)  # fmt: skip
def test_a_key_of_a_known_form_is_named_and_not_shown(kind: str, page: str) -> None:
    key = KEYS[kind]
    found = Secrets({}).find(page.format(key))
    assert len(found) == 1
    assert found[0].startswith(f"{kind} (fingerprint ")
    assert key[8:] not in found[0]
    assert Secrets({}).find(page.format(key).encode()) == found


def test_a_private_key_is_found_with_line_feeds_of_any_kind() -> None:
    for text in (PEM, json.dumps(PEM), PEM.replace("\n", "\r\n"), f"<pre>{PEM}</pre>"):
        assert kinds(text) == ["a private key"]
    assert kinds("Begin with -----BEGIN PRIVATE " + "KEY----- and end with it.") == []
    public = PEM.replace("RSA PRIVATE", "PUBLIC")
    assert kinds(public) == []


def test_several_keys_are_all_named_once_and_in_order() -> None:
    page = "\n".join([*KEYS.values(), *KEYS.values(), PEM])
    found = kinds(page)
    assert sorted(found) == found
    assert set(found) == {*KEYS, "a private key"}
    assert len(found) == len(KEYS) + 1


@pytest.mark.parametrize(
    "harmless",
    [
        "risk-averse and task-specific long-standing-and-well-known-facts",
        "sk-learn-contrib-imbalanced-learn-and-others",
        "sk-fading-circle12 sk-circle-fade-dot-number-4",
        "sk-" + "x" * 48,
        "sk-" + "your-api-key-goes-right-here-1234",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "AIza",
        "hf_" + "x" * 34,
        "hf_hub_download_from_the_repository_of_models",
        "ghp_" + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "the model wrote eyJhbGciOiJIUzI1NiJ9 and stopped",
        "0d3f" * 16,
        "i-" + "a1" * 30,
        "foo" + KEYS["a Hugging Face token"],
        KEYS["an AWS access key"] + "ABC",
        "1" * 100_000,
        "wwww " * 50_000,
        "",
        "\ud800",
    ],
)
def test_ordinary_text_and_placeholders_are_no_keys(harmless: str) -> None:
    assert kinds(PAGE.format(harmless)) == []
    assert kinds(harmless) == []


def test_a_fingerprint_allows_one_key_and_no_other() -> None:
    key, other = KEYS["an API key"], "sk-" + "7" + made("", 47, seed=2)
    (found,) = Secrets({}).find(key)
    mark = found.partition("fingerprint ")[2].rstrip(")")
    assert len(mark) == 12
    secrets = Secrets({}, allowed=[mark])
    assert secrets.find(f"{key} and again {key}") == ()
    assert kinds(f"{key} {other}", secrets) == ["an API key"]


ODD = "p<ä&'\"b\\ 42/x"


@pytest.mark.parametrize(
    "name",
    ["MY_LAB_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PGPASSWORD",
     "AWS_ACCESS_KEY_ID", "STRIPE_SECRET", "OPENAI_API_KEY_2", "AZURE_STORAGE_CONNECTION_STRING",
     "api_key", "NPM_AUTH"],
)  # fmt: skip
def test_the_environments_credentials_are_found_as_pages_write_them(name: str) -> None:
    secrets = Secrets({name: f" {ODD}\n", "PATH": "/usr/bin:/bin"})
    for page in (ODD, html.escape(ODD), json.dumps(ODD), json.dumps({"ä": ODD}),
                 "p&lt;ä&amp;&#39;&#34;b\\ 42/x", script_json(ODD), quote(ODD, safe="")):  # fmt: skip
        assert secrets.find(PAGE.format(page)) == (f"the value of {name}",), page
    assert secrets.find(PAGE.format(ODD[1:])) == ()


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "KEYBOARD", "MONKEY_BUSINESS", "TOKENIZERS_PARALLELISM",
             "SSH_AUTH_SOCK", "HELMSITE_CACHE"],
)  # fmt: skip
def test_other_variables_are_nobodys_secret(name: str) -> None:
    assert Secrets({name: "aB3-dE6_gH9.kL2"}).find("aB3-dE6_gH9.kL2") == ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("test", False), ("testtest", False), ("changeme", False), ("", False),
        ("production", False), ("aaaaaaaaaaaaaaaaaaaaaaa1", False), ("12345678", False),
        ("/home/me/.config/key.json", False), ("https://example.org/a", False),
        ("https://me:s3cret@example.org/a", True), ("Tr0ub4dor&3", True),
        ("correct-horse-battery", True), ("zqxjkvbpwyfgcrlaoeuidhtnsm", True),
        ("6f1e2d3c4b5a69788796", True),
    ],
)  # fmt: skip
def test_only_varied_values_are_looked_for(value: str, expected: bool) -> None:
    assert is_varied(value) is expected
    assert bool(Secrets({"A_KEY": value}).find(f"x {value} y")) is expected


def test_of_a_value_with_many_lines_the_longest_is_looked_for() -> None:
    secrets = Secrets({"DEPLOY_KEY": PEM})
    assert "the value of DEPLOY_KEY" in secrets.find(PEM)
    assert secrets.find(f"x{PEM.splitlines()[1]}x") == ("the value of DEPLOY_KEY",)
    assert Secrets({"KEYS": "ab1\ncd2\nef3\ngh4"}).find("about ab1") == ()
    assert secrets.find("-----BEGIN RSA PRIVATE " + "KEY-----\nwords") == ()


def test_a_page_is_scanned_faster_than_it_is_made() -> None:
    """Compared with a regular expression over the same bytes, so that load is no matter."""
    import re

    rng = random.Random(4)
    words = [
        "".join(rng.choices(string.ascii_lowercase, k=k)) for k in range(2, 14)
    ] * 9
    text = " ".join(rng.choice(words) for _ in range(300_000)).encode()
    secrets = Secrets({f"K{n}_TOKEN": made("", 40, seed=n) for n in range(4)})

    def cost(work: object) -> float:
        best = 9.0
        for _ in range(5):
            start = time.process_time()
            assert callable(work)
            work()
            best = min(best, time.process_time() - start)
        return best

    plain = re.compile(rb"sk-|hf_|gh[pousr]_|AKIA|AIza|xox|eyJ")
    assert cost(lambda: secrets.find(text)) < cost(lambda: plain.findall(text))


def test_values_can_be_looked_for_alone() -> None:
    key = made("hf_", 34)
    secrets = Secrets({"MY_API_KEY": ODD}, forms=False)
    assert secrets.find(f"{key} and {ODD}") == ("the value of MY_API_KEY",)
    assert Secrets({"MY_API_KEY": ODD}).find(key) != ()

"""The explorer answers its own page and nothing else: names, origins, bodies and errors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from gluon_attn.errors import UsageError
from preprocessing.errors import InputError
from reproductions.explorer.app import LARGEST_BODY, Explorer
from reproductions.explorer.networks import LONGEST_TEXT, Busy
from reproductions.protocol.attention_view import AttentionView
from tests.reproductions.explorer.offered import fake, translation

FILES = {"": lambda: b"<p>explore", "papers/index.html": lambda: b"<p>papers", "papers/a.png": lambda: b"png"}
HOST = "127.0.0.1:8765"
QUESTION = {"network": "a/b", "text": "가 나 다"}


def client(answer: Any = translation, **options: Any) -> Client:
    return Client(Explorer(fake(answer), FILES, **options))


def ask(answer: Any = translation, body: Any = None, **options: Any) -> TestResponse:
    data = body if isinstance(body, bytes) else json.dumps(QUESTION if body is None else body)
    given: dict[str, Any] = {"data": data, "content_type": "application/json", "headers": {"Host": HOST}}
    return client(answer).post("/api/attention", **(given | options))


def refusal(response: TestResponse) -> str:
    """The only line of an error: as JSON, or on a page."""
    if response.mimetype == "application/json":
        (message,) = json.loads(response.get_data()).values()
    else:
        message = re.findall(r'<article class="document">\s*(.*?)\s*</article>', response.get_data(as_text=True))[0]
    assert message and "\n" not in message
    return str(message)


@pytest.mark.parametrize(
    ("path", "kind"), [("/", "text/html"), ("/papers/", "text/html"), ("/papers/a.png", "image/png")]
)
def test_pages_are_served_for_this_origin_alone(path: str, kind: str) -> None:
    response = client().get(path, headers={"Host": HOST})
    assert response.status_code == 200 and response.mimetype == kind
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert not [name for name, _ in response.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:1", "localhost:8765", "[::1]:8765", "127.8.9.1", "LOCALHOST"])
def test_this_machine_has_these_names(host: str) -> None:
    assert client().get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.1", "0.0.0.0", "", "[::1", "a@b"],
)
def test_no_other_name_resolves_to_the_explorer(host: str) -> None:
    response = client().get("/", headers={"Host": host})
    assert response.status_code == 400 and "address" in refusal(response)


def test_a_server_for_others_answers_to_its_addresses_and_its_name_but_to_no_other() -> None:
    served = client(hosts=("lab",), any_address=True)
    assert served.get("/", headers={"Host": "192.168.0.1:80"}).status_code == 200
    assert served.get("/", headers={"Host": "lab:80"}).status_code == 200
    assert client(hosts=("Lab.",)).get("/", headers={"Host": "lAB:80"}).status_code == 200
    assert served.get("/", headers={"Host": "evil.example"}).status_code == 400


@pytest.mark.parametrize("path", ["/papers", "/../pyproject.toml", "/papers/%2e%2e/x", "/papers/a.png/", "/api"])
def test_there_are_no_other_pages(path: str) -> None:
    response = client().get(path, headers={"Host": HOST})
    assert response.status_code == 404 and response.mimetype == "text/html"
    assert refusal(response) == "there is no such page; go back to /"
    assert '<a class="name" href="/">' in response.get_data(as_text=True)


def test_an_error_does_not_link_pages_that_are_missing() -> None:
    without = Client(Explorer(fake(translation), {"": FILES[""]}))
    for served, linked in ((client(), True), (without, False)):
        content = served.get("/none", headers={"Host": HOST}).get_data(as_text=True)
        assert '<a class="name" href="/">' in content and ('href="/papers/"' in content) is linked


def test_a_page_of_a_run_has_no_access_to_the_explorer() -> None:
    served = Client(Explorer(fake(translation), FILES | {"runs/a/b/page.html": lambda: b"<script>"}))
    response = served.get("/runs/a/b/page.html", headers={"Host": HOST})
    directives = response.headers["Content-Security-Policy"].split("; ")
    sandbox = next(each for each in directives if each.startswith("sandbox"))
    assert "allow-scripts" in sandbox and "allow-same-origin" not in sandbox and "default-src 'none'" in directives
    assert "Content-Security-Policy" not in served.get("/", headers={"Host": HOST}).headers


def test_a_page_that_was_deleted_is_not_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = FILES | {"runs/a/b/page.html": (tmp_path / "page.html").read_bytes}
    response = Client(Explorer(fake(translation), files)).get("/runs/a/b/page.html", headers={"Host": HOST})
    assert response.status_code == 404 and "no longer" in refusal(response)
    assert capsys.readouterr().err == ""


def test_a_text_is_answered_with_the_attention_of_its_network() -> None:
    response = ask(body=QUESTION | {"beam": 3})
    answer = json.loads(response.get_data())
    assert response.status_code == 200 and answer["tokens"] == ["가", "나", "다"]
    assert [each["text"] for each in answer["alternatives"]] == ["one two three four", "one other three"]


def test_what_is_asked_reaches_the_network_as_one_line() -> None:
    networks: Any = fake(translation)
    body = QUESTION | {"text": " 가\n나\t\x00다\r\n "}
    Client(Explorer(networks, FILES)).post("/api/attention", json=body, headers={"Host": HOST})
    assert networks.asked == [("a/b", "가 나 다", None)]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_sites_cannot_send_texts(headers: dict[str, str]) -> None:
    networks: Any = fake(translation)
    response = Client(Explorer(networks, FILES)).post(
        "/api/attention", json=QUESTION, headers={"Host": HOST, **headers}
    )
    assert response.status_code == 403 and networks.asked == []


def test_its_own_page_can() -> None:
    headers = {"Host": HOST, "Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}
    assert ask(headers=headers).status_code == 200
    headers = {"Host": "LocalHost:8765", "Origin": "http://localhost:8765"}
    assert ask(headers=headers).status_code == 200


def test_a_form_of_another_site_cannot_pose_as_json() -> None:
    assert ask(content_type="text/plain").status_code == 415


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[",
        b"\xff",
        b"[" * 20_000,
        b"[]",
        b"{}",
        {"network": 1, "text": "a"},
        {"network": "a/b"},
        {"network": "a/b", "text": ["a"]},
        QUESTION | {"beam": 0},
        QUESTION | {"beam": 13},
        QUESTION | {"beam": True},
        QUESTION | {"beam": 1e9},
        QUESTION | {"beam": "5"},
        QUESTION | {"text": "\ud800"},
    ],
    ids=str,
)
def test_what_is_not_a_question_is_refused_in_one_line(body: Any) -> None:
    response = ask(body=body)
    assert response.status_code == 400, response.get_data()
    refusal(response)


@pytest.mark.parametrize(
    "body", [QUESTION | {"text": "가" * (LONGEST_TEXT + 1)}, b" " * (LARGEST_BODY + 1)], ids=["text", "body"]
)
def test_what_is_too_long_is_refused_before_it_is_read(body: Any) -> None:
    response = ask(body=body)
    assert response.status_code == 413 and f"at most {LONGEST_TEXT}" in refusal(response)


def test_the_longest_text_is_read_however_it_is_escaped() -> None:
    text = "\U0001f600" * LONGEST_TEXT
    assert ask(body=json.dumps(QUESTION | {"text": text}).encode()).status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (UsageError("there is no token\nin this text"), 422, "there is no token in this text"),
        (InputError("a.npz", "is damaged"), 422, "a.npz: is damaged"),
        (Busy(), 503, "the networks are busy; try again in a moment"),
    ],
)
def test_errors_are_one_line(error: Exception, status: int, message: str) -> None:
    def fail(text: str) -> AttentionView:
        raise error

    response = ask(fail)
    assert response.status_code == status and refusal(response) == message


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/api/attention"), ("POST", "/"), ("PUT", "/papers/"), ("DELETE", "/")]
)
def test_other_methods_are_refused(method: str, path: str) -> None:
    assert client().open(path, method=method, headers={"Host": HOST}).status_code == 405


def test_a_fault_is_one_line_on_the_page_and_all_of_it_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(text: str) -> AttentionView:
        raise RuntimeError("secret")

    response = ask(fail)
    assert response.status_code == 500 and refusal(response) == "the explorer failed; its terminal says why"
    assert "RuntimeError: secret" in capsys.readouterr().err

"""Serving on the loopback interface."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from gluon_attn.errors import UsageError
from reproductions.explorer.app import Explorer
from reproductions.explorer.server import bind, is_loopback
from tests.reproductions.explorer.offered import fake, serving, translation
from tests.reproductions.support import ROOT, gluon_attn


def test_a_text_is_answered_over_the_network_and_a_broken_request_does_no_harm() -> None:
    with serving(fake(translation), {"": lambda: b"page"}) as address:
        where = urlsplit(address)
        assert where.hostname == "127.0.0.1"
        with socket.create_connection((where.hostname, where.port)) as broken:
            broken.sendall(b"\x16\x03\x01\0\0 nothing\r\n\r\n")
        connection = HTTPConnection(where.hostname, where.port or 0, timeout=30)
        body = json.dumps({"network": "a/b", "text": "가 나"})
        connection.request("POST", "/api/attention", body, {"Content-Type": "application/json", "Origin": address[:-1]})
        assert json.loads(connection.getresponse().read())["tokens"] == ["가", "나"]
        connection.close()


def test_a_port_in_use_is_named() -> None:
    with serving(fake(translation), {}) as address:
        port = urlsplit(address).port or 0
        with pytest.raises(UsageError, match=f"port {port}: .*; choose another with --port"):
            bind(Explorer(fake(translation), {}), "127.0.0.1", port)
    with pytest.raises(UsageError, match="--host"):
        bind(Explorer(fake(translation), {}), "203.0.113.7", 0)


def test_a_name_that_is_no_host_is_refused_with_the_reason_of_the_resolver() -> None:
    with pytest.raises(UsageError, match=r"^a\.\.b, port 0: [^(]*; choose another with --port or --host$") as refused:
        bind(Explorer(fake(translation), {}), "a..b", 0)
    assert "Unknown error" not in str(refused.value)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("LocalHost", True),
        ("0.0.0.0", False),
        ("lab", False),
    ],
)
def test_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_a_paper_without_networks_is_refused_before_anything_is_served(tmp_path: Path) -> None:
    assert "gluon-attn run cheng2016" in gluon_attn("explore", "cheng2016", "--runs", tmp_path).refusal


@pytest.mark.slow
def test_the_command_says_where_it_is_and_ends_without_a_word_of_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "reproductions", "explore", "--port", "0", "--runs", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    assert "http://127.0.0.1:" in first and "Ctrl-C" in first
    process.send_signal(2)
    rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest, errors) == (0, "ended\n", "")

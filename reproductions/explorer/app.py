"""The explorer as a WSGI application: it serves pages, and the attention of a network over a text that is posted.

Only requests that name this machine are answered, so that no other site can reach the explorer through a name of its
own that resolves to this address (DNS rebinding). Texts are accepted only from pages of the same origin, and pages of
runs are given another.
"""

from __future__ import annotations

import ipaddress
import json
import traceback
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from werkzeug.exceptions import (
    BadRequest,
    Forbidden,
    HTTPException,
    MethodNotAllowed,
    NotFound,
    RequestEntityTooLarge,
    UnsupportedMediaType,
)
from werkzeug.wrappers import Request, Response

from gluon_attn.errors import UsageError
from preprocessing.errors import InputError
from reproductions.explorer.networks import LONGEST_TEXT, WIDEST_BEAM, Busy, Networks
from reproductions.explorer.pages import page

LARGEST_BODY = 16 * LONGEST_TEXT
"""Maximum size of a request in bytes: every character as an escaped surrogate pair, and some room."""

HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
QUESTIONS = "api/attention"
"""Path to which the page of the explorer posts texts."""
RUNS = "runs/"
"""Beginning of the paths of the pages that runs have written."""
# Any program may have written a page of a run, at any time. The sandbox gives it an origin of its own, so that its
# script can neither read the explorer nor send it texts. Forms are allowed because only then scripts get their events.
RUN_POLICY = (
    "sandbox allow-scripts allow-forms; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)
TYPES = {".html": "text/html; charset=utf-8", ".png": "image/png", ".ttf": "font/ttf"}

Page = Callable[[], bytes]


class Explorer:
    """The WSGI application that answers requests.

    Args:
        networks: networks that can be queried.
        files: function that returns the content of a page, by the path of the page without the leading slash; the first
            page is ``""``.
        hosts: names of this machine in addition to ``localhost`` and addresses of the loopback interface, in any case.
        any_address: whether any IP address is accepted as a name of this machine, because other machines can reach it.
    """

    def __init__(
        self, networks: Networks, files: Mapping[str, Page], hosts: Iterable[str] = (), *, any_address: bool = False
    ) -> None:
        self._networks, self._files = networks, files
        self._hosts = {"localhost", *(host.lower().removesuffix(".") for host in hosts)}
        self._any_address = any_address

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = Request(environ)
        request.max_content_length = LARGEST_BODY
        try:
            response = self._answer(request)
        except HTTPException as error:
            response = self._refusal(request, str(error.description), error.code or 500)
        except Exception:  # a fault of ours or of MXNet: the page reports it, and other requests are not affected
            traceback.print_exc()
            response = self._refusal(request, "the explorer failed; its terminal says why", 500)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response(environ, start_response)

    def _answer(self, request: Request) -> Response:
        if not self._is_this_machine(request.environ.get("HTTP_HOST", "")):
            raise BadRequest("this name is not one of the explorer; use the address that it printed")
        path = request.path.removeprefix("/")
        if path == QUESTIONS:
            if request.method != "POST":
                raise MethodNotAllowed(["POST"], "send a text by POST")
            return self._attention(request)
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(["GET", "HEAD"], "pages are only read")
        path = f"{path}index.html" if path.endswith("/") else path
        if path not in self._files:
            raise NotFound("there is no such page; go back to /")
        suffix = "." + path.rpartition(".")[2] if path else ".html"
        try:
            content = self._files[path]()
        except FileNotFoundError:  # deleted since the explorer was started
            raise NotFound("this page is no longer there; go back to /") from None
        headers = {"Content-Security-Policy": RUN_POLICY} if path.startswith(RUNS) else None
        return Response(content, content_type=TYPES[suffix], headers=headers)

    def _is_this_machine(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
        except ValueError:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self._hosts
        return address.is_loopback or self._any_address

    def _attention(self, request: Request) -> Response:
        origin = request.headers.get("Origin")
        site = request.headers.get("Sec-Fetch-Site", "same-origin")
        own = f"http://{request.environ['HTTP_HOST']}".lower()
        if site != "same-origin" or (origin is not None and origin.lower() != own):
            raise Forbidden("texts are read from this explorer's own page only")
        if request.mimetype != "application/json":
            raise UnsupportedMediaType("send JSON")
        id, text, beam = _question(request)
        try:
            return _json(self._networks.attention(id, text, beam), 200)
        except Busy:
            return _error("the networks are busy; try again in a moment", 503)
        except (InputError, UsageError) as error:
            return _error(str(error), 422)

    def _refusal(self, request: Request, message: str, status: int) -> Response:
        """An error as JSON for the script of the page, otherwise as a page."""
        if request.path.removeprefix("/") == QUESTIONS:
            return _error(message, status)
        published = "papers/index.html" in self._files
        title = f"Error {status}"
        body = page("document", live=True, here="", published=published, title=title, content=message, attention="")
        return Response(body, status, content_type=TYPES[".html"])


def _question(request: Request) -> tuple[str, str, int | None]:
    """Read the network, text and beam width of a request."""
    try:
        question = json.loads(request.get_data())
    except RequestEntityTooLarge:
        raise RequestEntityTooLarge(f"too long; send at most {LONGEST_TEXT} characters") from None
    except (ValueError, RecursionError):
        raise BadRequest("the request is not JSON; reload the page") from None
    if not isinstance(question, dict) or not all(isinstance(question.get(name), str) for name in ("network", "text")):
        raise BadRequest("the request names no network or no text; reload the page")
    beam = question.get("beam")
    if beam is not None and (type(beam) is not int or not 1 <= beam <= WIDEST_BEAM):
        raise BadRequest(f"the beam must be a whole number from 1 to {WIDEST_BEAM}")
    return question["network"], _line(question["text"]), beam


def _line(text: str) -> str:
    """The text as one line without control characters."""
    if len(text) > LONGEST_TEXT:
        raise RequestEntityTooLarge(f"{len(text)} characters; type at most {LONGEST_TEXT}")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadRequest("the text is not Unicode; type it again")
    return " ".join("".join(" " if unicodedata.category(c) == "Cc" else c for c in text).split())


def _json(values: Any, status: int) -> Response:
    body = json.dumps(values, ensure_ascii=False, allow_nan=False)
    return Response(body, status, content_type="application/json; charset=utf-8")


def _error(message: str, status: int) -> Response:
    return _json({"error": " ".join(message.split())}, status)

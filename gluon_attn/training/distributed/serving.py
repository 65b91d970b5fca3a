"""A server or the scheduler of MXNet's parameter server."""

from __future__ import annotations

import importlib
import os


def serve() -> None:
    """Run as the server or scheduler named by the environment (``DMLC_ROLE``) until the workers leave.

    In a process with such a role, ``import mxnet`` itself would serve and never return, and the optimizer of
    asynchronous workers, which needs all of MXNet, could not be loaded. Therefore the role is set after the import.
    """
    role = os.environ.pop("DMLC_ROLE")
    mxnet = importlib.import_module("mxnet")
    server = importlib.import_module("mxnet.kvstore.kvstore_server")
    os.environ["DMLC_ROLE"] = role
    server.KVStoreServer(mxnet.kv.create("dist")).run()

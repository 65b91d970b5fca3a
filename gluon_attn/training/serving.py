"""A server or the scheduler of MXNet's parameter server."""

from __future__ import annotations

import importlib
import os


def serve() -> None:
    """Be what the environment says (``DMLC_ROLE``), until the workers leave.

    In a process of such a role ``import mxnet`` itself would serve, and not return. Then the optimizer of workers that
    do not wait for each other could not be loaded, which needs the whole of MXNet. So the role is set afterwards.
    """
    role = os.environ.pop("DMLC_ROLE")
    mxnet = importlib.import_module("mxnet")
    server = importlib.import_module("mxnet.kvstore.kvstore_server")
    os.environ["DMLC_ROLE"] = role
    server.KVStoreServer(mxnet.kv.create("dist")).run()

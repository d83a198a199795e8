"""The session with python-lsp-jsonrpc, over stdio."""

import asyncio
import contextlib
import subprocess
import threading

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.exceptions import JsonRpcException
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter
from session import PROGRAM, Peer, Refusal, run


class Pylsp(Peer):
    def __init__(self, endpoint, process):
        self._endpoint, self._process = endpoint, process

    async def call(self, method, **params):
        try:
            return await asyncio.wrap_future(self._endpoint.request(method, params))
        except JsonRpcException as error:
            raise Refusal(error.code, error.message) from None

    async def notify(self, method):
        self._endpoint.notify(method)

    async def ended(self):
        assert await asyncio.to_thread(self._process.wait) == 0


@contextlib.asynccontextmanager
async def connect(flags, hear, ask):
    loop = asyncio.get_running_loop()

    def refresh(params):
        try:
            return ask(params)
        except Refusal as refusal:
            raise JsonRpcException(str(refusal), refusal.code) from None

    def event(params):
        loop.call_soon_threadsafe(hear, "uploadTask/event", params)

    with subprocess.Popen([PROGRAM, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        handlers = {"uploadTask/event": event, "auth/refreshToken": refresh}
        endpoint = Endpoint(handlers, JsonRpcStreamWriter(process.stdin).write)
        reader = threading.Thread(target=JsonRpcStreamReader(process.stdout).listen, args=(endpoint.consume,))
        reader.start()
        yield Pylsp(endpoint, process)
        reader.join()
        endpoint.shutdown()


run(connect)

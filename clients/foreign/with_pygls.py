"""The session with pygls, over stdio."""

import contextlib

from pygls.client import JsonRPCClient
from pygls.exceptions import JsonRpcException
from session import PROGRAM, Peer, Refusal, run


class Client(JsonRPCClient):
    async def server_exit(self, server):
        self.status = server.returncode

    def report_server_error(self, error, source):
        pass  # What a handler raises, too.


class Pygls(Peer):
    def __init__(self, client):
        self._client = client

    async def call(self, method, **params):
        try:
            return plain(await self._client.protocol.send_request_async(method, params))
        except JsonRpcException as error:
            raise Refusal(error.code, error.message) from None

    async def notify(self, method):
        self._client.protocol.notify(method)

    async def ended(self):
        await self._client._server.wait()
        assert self._client._server.returncode == 0


@contextlib.asynccontextmanager
async def connect(flags, hear, ask):
    client = Client()

    @client.feature("uploadTask/event")
    def event(params):
        hear("uploadTask/event", plain(params))

    @client.feature("auth/refreshToken")
    def refresh(params):
        try:
            return ask(plain(params))
        except Refusal as refusal:
            raise JsonRpcException(str(refusal), refusal.code) from None

    await client.start_io(PROGRAM, *flags)
    yield Pygls(client)


def plain(value):
    """pygls makes named tuples of objects."""
    if hasattr(value, "_asdict"):
        return {name: plain(member) for name, member in value._asdict().items()}
    return [plain(element) for element in value] if isinstance(value, list) else value


run(connect)

"""The session with aiorpcX, on a Unix socket."""

import asyncio
import contextlib
import tempfile

from aiorpcx import NewlineFramer, Notification, RPCError, RPCSession, connect_us
from session import PROGRAM, Peer, Refusal, run


class Session(RPCSession):
    async def handle_request(self, request):
        if isinstance(request, Notification):
            return self.hear(request.method, request.args)
        if request.method != "auth/refreshToken":
            raise RPCError(-32601, "There is no such method.")
        try:
            return self.ask(request.args)
        except Refusal as refusal:
            raise RPCError(refusal.code, str(refusal)) from None


class Aiorpcx(Peer):
    def __init__(self, session):
        self._session = session

    async def call(self, method, **params):
        try:
            return await self._session.send_request(method, params)
        except RPCError as error:
            raise Refusal(error.code, error.message) from None

    async def notify(self, method):
        await self._session.send_notification(method)

    async def ended(self):
        await self._session.transport._closed_event.wait()


@contextlib.asynccontextmanager
async def connect(flags, hear, ask):
    with tempfile.TemporaryDirectory(prefix="storage-rpc-") as folder:
        path = f"{folder}/socket"
        service = await asyncio.create_subprocess_exec(
            PROGRAM, "serve", "--stdio", "--socket", path, *flags, stdin=-1, stdout=-1
        )
        service.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"service/ping"}\n')
        assert b"pong" in await service.stdout.readline()  # The socket is opened before stdin is read.
        async with connect_us(path, session_factory=Session, framer=NewlineFramer()) as session:
            session.hear, session.ask = hear, ask
            yield Aiorpcx(session)
        service.stdin.close()  # It continues after the end of one client.
        assert await service.wait() == 0


run(connect)

from __future__ import annotations

import threading
from typing import Any

from storage_rpc import InvalidArgument, RPCError

from .support import PATIENCE, StorageTestCase

ASK = 'say(id="ask", method="auth/refreshToken", params={"kind": "idToken", "reason": "expired"}); sys.stdout.flush()'
# Takes the answer to what was asked, and hands it to the caller as that to its own request.
HAND_BACK = """
answer = json.loads(input())
say(id=request["id"], result=answer)
sys.stdout.flush()
sys.stdin.read()
"""


class SetTokenTests(StorageTestCase):
    def test_tokens_come_and_go(self) -> None:
        self.storage.set_token("secret")
        self.storage.set_token("secret", kind="appCheckToken", expires_in=3600.5)
        self.storage.reference("x").put_data(b"x").wait(PATIENCE)
        self.storage.set_token(None)
        self.storage.set_token(None, kind="accessToken")

    def test_an_invalid_token(self) -> None:
        for token in ("", "se cret", "secret\n", "sécret", "secret" * 20000):
            with self.assertRaises(InvalidArgument) as caught:
                self.storage.set_token(token)
            self.assertEqual(caught.exception.data["param"], "token")
            self.assertNotIn("cret", str(caught.exception))
        with self.assertRaises(InvalidArgument):
            self.storage.set_token("secret", expires_in=0)
        with self.assertRaises(RPCError):
            self.storage.set_token("secret", kind="password")  # type: ignore[arg-type]

    def test_what_is_said(self) -> None:
        storage = self.fake("""
say(id=request["id"], result=None); sys.stdout.flush()
said = request["params"]
request = json.loads(input())
say(id=request["id"], result=[said, request["params"]]); sys.stdout.flush()
sys.stdin.read()
""")
        storage.set_token(None)
        said = storage.call("auth/setToken", token="t", kind="idToken", expiresIn=5)
        self.assertEqual(said, [{"token": None}, {"token": "t", "kind": "idToken", "expiresIn": 5}])


class RefreshTokenTests(StorageTestCase):
    """A service that asks immediately."""

    def outcome(self, *answers: Any, program: str = ASK + HAND_BACK) -> Any:
        """What the client says when `on_refresh_token` returns the one answer, or when there is no such callback."""
        asked: list[tuple[str, str]] = []

        def refresh(kind: str, reason: str) -> Any:
            asked.append((kind, reason))
            return answers[0]

        storage = self.fake(program, on_refresh_token=refresh if answers else None)
        said = storage.call("service/ping")
        self.assertEqual(asked, [("idToken", "expired")] if answers else [])
        self.assertEqual((said.pop("jsonrpc"), said.pop("id")), ("2.0", "ask"))
        return said

    def test_a_fresh_token(self) -> None:
        self.assertEqual(self.outcome("fresh"), {"result": "fresh"})
        self.assertEqual(self.outcome(("fresh", 3600)), {"result": {"token": "fresh", "expiresIn": 3600}})
        self.assertEqual(self.outcome(("fresh", None)), {"result": {"token": "fresh", "expiresIn": None}})
        self.assertEqual(self.outcome(None), {"result": None})

    def test_unknown_requests_of_the_service(self) -> None:
        self.assertEqual(self.outcome()["error"]["code"], -32601)
        other = 'say(id="ask", method="window/ask"); sys.stdout.flush()'
        error = self.outcome(program=other + HAND_BACK)["error"]
        self.assertEqual(error, {"code": -32601, "message": 'There is no method "window/ask".'})

    def test_a_callback_that_fails(self) -> None:
        def fail(kind: str, reason: str) -> str:
            raise SystemExit("secret")

        with self.assertLogs("storage_rpc", "ERROR"):
            said = self.fake(ASK + HAND_BACK, on_refresh_token=fail).call("service/ping")
        self.assertEqual(said["error"], {"code": -32603, "message": "auth/refreshToken failed in the client."})
        with self.assertLogs("storage_rpc", "ERROR"):
            self.assertEqual(self.outcome(b"fresh")["error"]["code"], -32603)
        with self.assertLogs("storage_rpc", "ERROR"):
            self.assertEqual(self.outcome((1, 2, 3))["error"]["code"], -32603)

    def test_a_callback_may_wait_for_the_service(self) -> None:
        storage = self.fake(ASK + """
inner = json.loads(input())
say(id=inner["id"], result="pong"); sys.stdout.flush()
""" + HAND_BACK)
        storage.on_refresh_token = lambda kind, reason: str(storage.call("service/ping"))
        self.assertEqual(storage.call("service/ping")["result"], "pong")

    def test_a_callback_that_waits_does_not_delay_others(self) -> None:
        waiting, may_go = threading.Event(), threading.Event()
        self.addCleanup(may_go.set)

        def refresh(kind: str, reason: str) -> str:
            waiting.set()
            may_go.wait(PATIENCE)
            return "fresh"

        storage = self.fake(ASK + """
for _ in range(2):
    say(id=request["id"], result="pong"); sys.stdout.flush()
    request = json.loads(input())
said = [request, json.loads(input())]  # Either may come first.
said.sort(key=lambda message: "method" in message)
say(id=said[1]["id"], result=said[0]["result"]); sys.stdout.flush()
sys.stdin.read()
""", on_refresh_token=refresh)
        self.assertEqual(storage.call("service/ping"), "pong")
        self.assertTrue(waiting.wait(PATIENCE))
        self.assertEqual(storage.call("service/ping"), "pong")
        may_go.set()
        self.assertEqual(storage.call("service/ping"), "fresh")

    def test_closing_waits_for_no_callback(self) -> None:
        waiting, may_go = threading.Event(), threading.Event()
        self.addCleanup(may_go.set)

        def refresh(kind: str, reason: str) -> str:
            waiting.set()
            may_go.wait(PATIENCE)
            return "fresh"

        program = ASK + '\nsay(id=request["id"], result="pong"); sys.stdout.flush(); sys.stdin.read()'
        storage = self.fake(program, on_refresh_token=refresh)
        self.assertEqual(storage.call("service/ping"), "pong")
        self.assertTrue(waiting.wait(PATIENCE))
        storage.close()

"""Generates clients from what `rpc.discover` answers, and drives the one for Python over stdio."""

import asyncio
import importlib
import json
import sys
import tempfile
from pathlib import Path

from jsonrpc2pyclient.rpcclient import AsyncRPCClient
from jsonrpcobjects.errors import ServerError
from openrpc import OpenRPC
from openrpcclientgenerator import Language, generate
from session import FILM, PATIENCE, PROGRAM

NAME = "storage_rpc_http_client"


class Service(AsyncRPCClient):
    """The service as what the generated client sends its requests through."""

    def __init__(self, process):
        super().__init__()
        self._process = process

    async def _send_and_get_json(self, request_json, request_id, **options):
        self._process.stdin.write(request_json.encode() + b"\n")
        while True:
            message = json.loads(await self._process.stdout.readline())
            if message.get("id") == request_id:
                return message


def resolved(value, document):
    """The generator knows no named schemas but objects and enums, and takes all members of an object for required, in
    snake_case: so each reference gives way to what it names, and objects are dictionaries."""
    if isinstance(value, list):
        return [resolved(element, document) for element in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return resolved(document["components"]["schemas"][value["$ref"].rsplit("/", 1)[1]], document)
    return {key: resolved(member, document) for key, member in value.items() if key != "enum"}


async def main(folder):
    process = await asyncio.create_subprocess_exec(
        PROGRAM, "--root", str(folder / "root"), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24
    )
    service = Service(process)
    document = await service.call("rpc.discover")
    for language in Language:
        generate(OpenRPC.model_validate(document), language, "http://unused", folder)
    plain = {**resolved(document, document), "components": {}}
    package = generate(OpenRPC.model_validate(plain), Language.PYTHON, "http://unused", folder)
    sys.path.insert(0, str(folder / "python" / package))
    client = importlib.import_module(f"{NAME}.client").StorageRpcClient(headers={})
    client.transport = service
    await drive(client, folder)
    assert await process.wait() == 0


async def drive(client, folder):
    assert await client.service_ping() == "pong"
    assert (await client.storage_reference(path="films/long.mov"))["url"] == FILM
    film = folder / "long.mov"
    film.write_bytes(bytes(1 << 20))
    stored = await client.reference_put_file(reference=FILM, file=str(film), wait=True)
    assert (stored["state"], stored["metadata"]["size"]) == ("success", 1 << 20), stored
    paused = await client.upload_task_pause(task=stored["task"])
    assert not paused["accepted"]
    try:
        raise AssertionError(await client.reference_get_metadata(reference="gs://default-bucket/none"))
    except ServerError as error:
        assert error.rpc_error.code == -13010, error
    assert await client.shutdown() is None
    await client.exit()


with tempfile.TemporaryDirectory(prefix="storage-rpc-") as folder:
    asyncio.run(asyncio.wait_for(main(Path(folder)), PATIENCE))

"""What hosts of agents do with `storage-rpc mcp`: the official SDK of the Model Context Protocol in both generations, and
fastmcp. The argument is the program."""

import asyncio
import json
import pathlib
import sys
import tempfile

import fastmcp
import jsonschema
import mcp
from fastmcp.client.transports import StdioTransport
from mcp.client.stdio import StdioServerParameters, stdio_client

PROGRAM = sys.argv[1]
ALL = [
    "list_objects", "read_object", "object_info", "list_transfers", "download", "upload", "write_object", "copy_objects",
    "move_objects", "delete_objects", "set_metadata", "share_url", "control_transfer",
]  # fmt: skip


def flags(scratch):
    for name in ("in", "out"):
        (scratch / name).mkdir(exist_ok=True)
    return [
        "mcp", "--root", str(scratch / "root"), "--allow-changes", "--allow-read", str(scratch / "in"),
        "--allow-write", str(scratch / "out"),
    ]  # fmt: skip


def plain(result):
    """The structured answer, which the SDK has compared with its schema."""
    assert not getattr(result, "is_error", False), result
    return result.structured_content


async def use(client, scratch):
    """The tools and resources through a client of the SDK."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ALL, [tool.name for tool in tools]
    written = plain(await client.call_tool("write_object", {"reference": "gs://b/d/a b?.txt", "text": "héllo"}))
    assert written["size"] == 6
    refused = await client.call_tool("write_object", {"reference": "gs://b/d/a b?.txt", "text": "other"})
    assert refused.is_error and "object_info" in refused.content[0].text
    listed = plain(await client.call_tool("list_objects", {"reference": "gs://b/d"}))
    assert [item["reference"] for item in listed["items"]] == ["gs://b/d/a b?.txt"]
    read = await client.call_tool("read_object", {"reference": "gs://b/d/a b?.txt"})
    assert read.content[0].text == "héllo" and read.content[1].text.startswith("bytes 0 to 6 of 6, generation ")
    wrong = await client.call_tool("read_object", {"reference": "gs://b/d/a b?.txt", "maximum": 1})
    assert wrong.is_error and "maximum" in wrong.content[0].text

    large = scratch / "in" / "large"
    large.write_bytes(bytes(range(256)) * 40_000)
    reports = []

    async def progress(done, total, message):
        reports.append(done)

    upload = {"path": str(large), "reference": "gs://b/large"}
    sent = plain(await client.call_tool("upload", upload, progress_callback=progress))
    assert sent["state"] == "success" and reports == sorted(set(reports)), (sent, reports)
    assert plain(await client.call_tool("upload", upload))["task"] == sent["task"]
    got = plain(await client.call_tool("download", {"reference": "gs://b/large", "path": str(scratch / "out" / "large")}))
    assert got["state"] == "success" and (scratch / "out" / "large").read_bytes() == large.read_bytes()
    binary = await client.call_tool("read_object", {"reference": "gs://b/large"})
    assert "binary" in binary.content[0].text and binary.content[1].type == "resource_link"
    outside = await client.call_tool("upload", {"path": "/etc/passwd", "reference": "gs://b/passwd"})
    assert outside.is_error and str(scratch / "in") in outside.content[0].text

    resources = await client.list_resources()
    assert [str(resource.uri).rstrip("/") for resource in resources.resources] == ["gs://b"]
    more = await client.list_resources(cursor=resources.next_cursor)
    assert len(more.resources) == 2
    uris = {resource.name: str(resource.uri) for resource in more.resources}
    assert (await client.read_resource(uris["d/a b?.txt"])).contents[0].text == "héllo"
    try:
        await client.read_resource(uris["large"])
        raise AssertionError("a large resource was read")
    except mcp.MCPError as error:
        assert "read_object" in str(error) and "download" in str(error)
    assert [t.uri_template for t in (await client.list_resource_templates()).resource_templates] == [
        "gs://{bucket}/{+object}"
    ]

    plan = plain(await client.call_tool("delete_objects", {"reference": "gs://b/d", "recursive": True}))
    assert plan["wouldDelete"] == 1
    confirmed = {"reference": "gs://b/d", "recursive": True, "confirm": plan["confirm"]}
    assert plain(await client.call_tool("delete_objects", confirmed)) == {"deleted": 1}
    for name, arguments in [
        ("copy_objects", {"reference": "gs://b/large", "to": "gs://b/copy"}),
        ("move_objects", {"reference": "gs://b/copy", "to": "gs://b/moved"}),
        ("set_metadata", {"reference": "gs://b/moved", "customMetadata": ["a=b", "c"]}),
        ("object_info", {"reference": "gs://b/moved"}),
        ("share_url", {"reference": "gs://b/moved"}),
        ("list_transfers", {}),
    ]:
        plain(await client.call_tool(name, arguments))


async def official(mode, scratch):
    parameters = StdioServerParameters(command=PROGRAM, args=flags(scratch))
    async with mcp.Client(stdio_client(parameters), mode=mode) as client:
        await use(client, scratch)


async def fast(scratch):
    async with fastmcp.Client(StdioTransport(PROGRAM, flags(scratch))) as client:
        assert [tool.name for tool in await client.list_tools()] == ALL
        answer = await client.call_tool("write_object", {"reference": "gs://b/fast", "text": "x"})
        assert answer.structured_content["size"] == 1
        assert (await client.read_resource("gs://b/fast"))[0].text == "x"


async def raw(scratch):
    """A script that closes the input at once gets its answers; nothing but frames is on stdout, and nothing on stderr."""
    process = await asyncio.create_subprocess_exec(
        PROGRAM, *flags(scratch), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    lines = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"method": "notifications/initialized"},
        {"id": "two", "method": "tools/call", "params": {"name": "list_objects"}},
        {"id": 3, "method": "tools/list"},
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
    out, errors = await process.communicate(text.encode())
    answers = {answer["id"]: answer for answer in map(json.loads, out.splitlines())}
    assert set(answers) == {1, "two", 3}, answers
    for tool in answers[3]["result"]["tools"]:
        for schema in filter(None, (tool["inputSchema"], tool.get("outputSchema"))):
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.Draft7Validator.check_schema(schema)
    assert errors == b"" and process.returncode == 0, (errors, process.returncode)


async def main():
    with tempfile.TemporaryDirectory() as directory:
        for name, check in [
            ("the SDK with a handshake", lambda scratch: official("legacy", scratch)),
            ("the SDK, stateless", lambda scratch: official("2026-07-28", scratch)),
            ("the SDK that tries both", lambda scratch: official("auto", scratch)),
            ("fastmcp", fast),
            ("a script", raw),
        ]:
            scratch = pathlib.Path(directory, name.replace(" ", "-"))
            scratch.mkdir()
            await check(scratch)
            print(f"ok {name}", flush=True)
    print("5 passed, 0 failed")


asyncio.run(main())

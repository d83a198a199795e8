import assert from "node:assert/strict";
import { inspect } from "node:util";
import { check } from "./support.js";

check("references are those of the service", async (room) => {
  const storage = await room.spawn();
  const paths = ["", "/", "a", "//a//b/", "images/it rained?.png", "ä/ö#[*]", "a%2Fb", "a/../b", "."];
  for (const path of paths) await same(storage.reference(path), storage.request("storage/reference", { path }));
  const urls = [
    "gs://bucket", "gs://bucket/", "gs://bucket//a/b?c#d", "gs://b/%41", "gs://b/a\u2028b",
    "http://localhost:1/v0/b/bucket/o/a%2Fb%20c?alt=media&token=x", "https://host/v0/b/bu%2Ecket/o/%C3%A4#x",
    "https://h/v0/b/bucket", "https://h/v0/b/bucket/", "https://h/v0/b/bucket/o", "https://h/v0/b/b/o/a/b",
    "https://storage.googleapis.com/b/a%20b//c+d?x#y", "https://STORAGE.googleapis.com:443/b", "http://b.storage.googleapis.com/a/b",
    "https://h/storage/v1/b/b/o/a%2Fb", "https://h/download/storage/v1/b/b/o/a?alt=media", "https://h/storage/v1/b/b/o?x",
    "https://h/upload/storage/v1/b/b/o?uploadType=media&name=a+b%2Bc", "https://h:1/b/a?X-Goog-Signature=x",
    "https://h/b/a?GoogleAccessId=a&Signature=x", "https://b.storage.googleapis.com/v0/b/c/o/d", "https://h/v0/b/b/o/a?Signature=x",
    "https://h/v0/b/b/o/docs%2F?alt=media", "https://h/v0/b/b/o/%2Fa%2F%2Fb%252F+.", "https://h/v0/b/b/o//", "https://h/v0/b/b/o/..%2F",
    "https://storage.googleapis.com/b/docs/?X-Goog-Signature=x", "https://storage.googleapis.com/storage/v1/b/c/o/d?X-Goog-Signature=x",
    "http://localhost:1/b/a%20b?X-Amz-Signature=x", "https://h/storage/v1/b/b/o/d?AWSAccessKeyId=a&Signature=x",
  ];
  for (const url of urls) await same(storage.reference(url), storage.request("storage/reference", { url }));
  const place = storage.reference("a/b");
  for (const path of ["c", "/c//d/", ""]) {
    await same(place.child(path), storage.request("reference/child", { reference: place, path }));
  }
  await same(place.parent(), storage.request("reference/parent", { reference: place }));
  await same(place.root(), storage.request("reference/root", { reference: place }));
  assert.equal(place.root().parent(), null);
});

async function same(mine, answer) {
  const { bucket, fullPath, name, url, object } = await answer;
  const { bucket: a, fullPath: b, name: c, url: d, object: e } = mine;
  assert.deepEqual([a, b, c, d, e], [bucket, fullPath, name, url, object]);
}

check("what is no path and no id is named", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("a");
  for (const [call, message] of [
    [() => storage.reference(null), "The path of an object, or its URL, is a string, not null."],
    [() => place.child(5), "The path of a child is a string, not number."],
    [() => place.putFile(5), "A local file is a path or a URL of the scheme file, not number."],
    [() => storage.uploadTask(), "The id of a task is a string, not undefined."],
  ]) {
    assert.throws(call, { name: "TypeError", message });
  }
});

check("URLs of S3 need its engine", async (room) => {
  const urls = [
    "s3://b/a%20b//c", "https://b.s3.eu-central-1.amazonaws.com/a%20b//c+d?x#y", "https://my.b.S3.dualstack.us-east-1.amazonaws.com:443/a",
    "https://s3.b.s3-eu-west-1.amazonaws.com/v0/b/c/o/d", "https://b.s3.cn-north-1.amazonaws.com.cn/", "https://s3.amazonaws.com/b/a/",
    "https://s3-eu-west-1.amazonaws.com/v0/b/c",
  ];
  const here = await room.spawn();
  const advice = 'add engine: "s3"; for this disk write';
  for (const [url, refusal] of [
    [urls[0], `${urls[0]} names an object or a bucket of S3: ${advice} gs://b/a%20b/c`],
    [urls[1], `https://b.s3.eu-central-1.amazonaws.com/a%20b//c+d… names an object of Amazon S3: ${advice} gs://b/a b/c+d`],
  ]) {
    assert.throws(() => here.reference(url), { reason: "pathError", message: refusal });
    assert.throws(() => here.reference("a").copy(url), { reason: "pathError", message: refusal });
  }
  const spawn = (args, options = {}) => {
    const own = ["--anonymous", "--bucket", "b", "--root", `${room.directory}/${args.length}`, ...args];
    return room.spawn({ engine: "s3", args: own, ...options });
  };
  const agree = async (storage, all) => {
    for (const url of all) await same(storage.reference(url), storage.request("storage/reference", { url }));
  };
  const amazon = await spawn([]);
  await agree(amazon, urls);
  assert.throws(() => amazon.reference("https://s3.test:9000/b/a"), { reason: "pathError" });
  const hosts = ["https://s3.test:9000", "https://B.s3.test:9000", "https://b.storage.googleapis.com"];
  const below = hosts.flatMap((host) => [`${host}/storage/v1/b/c/o/d`, `${host}/b/a%2F/`]);
  for (const other of [
    await spawn(["--virtual-host"], { endpoint: "https://S3.test:9000/" }),
    await spawn(["--virtual-host", "--endpoint=https://s3.test:9000"]),
  ]) {
    await agree(other, [...urls, ...below]);
    for (const url of ["http://s3.test:9000/b/a", "https://s3.test/b/a", "https://u@s3.test:9000/b/a", "https://s3.test:9000/"]) {
      assert.throws(() => other.reference(url), { reason: "pathError" }, url);
      await assert.rejects(other.request("storage/reference", { url }), { reason: "pathError" }, url);
    }
  }
});

check("a reference is in the bucket that is named", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("a/b", { bucket: "photos" });
  assert.equal(place.url, "gs://photos/a/b");
  assert.equal(storage.reference(undefined, { bucket: "photos" }).url, "gs://photos/");
  assert.equal(storage.reference("a", { bucket: undefined }).bucket, storage.defaultBucket);
  await place.putData("here").wait();
  assert.equal((await storage.reference("gs://photos/a/b", { bucket: "photos" }).getMetadata()).bucket, "photos");
  const other = { code: -13051, reason: "bucketMismatch" };
  assert.throws(() => storage.reference("gs://photos/a/b", { bucket: "other" }), other);
  await assert.rejects(storage.request("storage/reference", { url: "gs://photos/a/b", bucket: "other" }), other);
});

check("what is no storage URL is refused, as by the service", async (room) => {
  const storage = await room.spawn();
  const urls = [
    "gs://", "gs:///a", "ftp://a/b", "https://", "https://h", "https://h/v0/b/", "https://h/v0/b/b/x",
    "https://h/v0/b/b//x", "https://h/v1/b/b/o/x", "https://h/v0/b/b/o/%", "https://h/v0/b/b/o/%FF",
    "https://storage.googleapis.com", "https://storage.googleapis.com/", "https://storage.googleapis.com//a", "https://h/b/a",
    "https://.storage.googleapis.com/a", "https://storage.googleapis.com.h/b/a", "https://u:SECRET@storage.googleapis.com/b/a",
    "https://u@b.storage.googleapis.com/a", "http://h/b/a?X-Goog-Signature=SECRET", "https://h/storage/v1/b/b/x/a",
    "https://h/upload/storage/v1/b/b/o?upload_id=SECRET", "https://h/download/v0/b/b/o/a", "https://storage.googleapis.com/b/%zz",
    "https://h/storage/v1/b", "https://h/storage/v1/bb/b/o/a", "https://h/upload/storage/v1/b/b/o?name=%2", "https://:443/v0/b/b",
  ];
  for (const url of urls) {
    const isRefused = ({ code, reason, message }) => code === -13053 && reason === "pathError" && !message.includes("SECRET");
    assert.throws(() => storage.reference(url), isRefused, url);
    await assert.rejects(storage.request("storage/reference", { url }), { code: -13053, reason: "pathError" }, url);
  }
  await assert.rejects(storage.reference("a\nb").getMetadata(), { reason: "invalidArgument" });
  await assert.rejects(storage.reference("x".repeat(1025)).getMetadata(), { reason: "invalidArgument" });
});

check("references are values", async (room) => {
  const storage = await room.spawn({ bucket: "photos" });
  const place = storage.reference("a/b");
  assert.equal(`${place}`, "gs://photos/a/b");
  assert.equal(inspect(place), "Reference <gs://photos/a/b>");
  assert.ok(place.isEqual(storage.reference("gs://photos/a").child("b")));
  assert.ok(!place.isEqual(place.parent()));
  assert.throws(() => (place.bucket = "other"), TypeError);
});

check("metadata are read, changed and sent back", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("x.png");
  await place.putData("x", { metadata: { customMetadata: { a: "1", b: "2" } } }).wait();
  const changed = await place.updateMetadata({ cacheControl: "no-store", customMetadata: { a: null, c: "3" } });
  assert.deepEqual(changed.customMetadata, { b: "2", c: "3" });
  assert.deepEqual(await place.getMetadata(), changed);
  const back = await place.updateMetadata({ ...changed, cacheControl: null });
  assert.deepEqual([back.cacheControl, back.contentType], [undefined, "image/png"]);
});

check("objects are listed, fetched and deleted", async (room) => {
  const storage = await room.spawn();
  for (const name of ["a", "b/c", "b/d", "e"]) await storage.reference(name).putData(name).wait();
  const all = await storage.reference().listAll();
  assert.deepEqual(all.prefixes.map(String), ["gs://default-bucket/b"]);
  assert.deepEqual(all.items.map((one) => one.name), ["a", "e"]);
  const seen = [];
  for (let page = {}; ; ) {
    page = await storage.reference().list({ maxResults: 1, pageToken: page.pageToken });
    seen.push(...page.prefixes, ...page.items);
    if (!page.pageToken) break;
  }
  assert.deepEqual(seen.map((one) => one.fullPath), ["a", "b", "e"]);
  await assert.rejects(storage.reference("b/c").getData(2), { reason: "downloadSizeExceeded" });
  assert.equal(await seen[0].delete(), undefined);
  await assert.rejects(seen[0].delete(), { reason: "objectNotFound", code: -13010, retryable: false });
  await assert.rejects(seen[0].getMetadata(), ({ data }) => data.object === "a");
});

check("an exact name is an object of its own", async (room) => {
  const storage = await room.spawn();
  const exact = storage.exactReference("folder/");
  await same(exact, storage.request("storage/reference", { object: "folder/" }));
  assert.ok(!exact.isEqual(storage.reference("folder")));
  await exact.putData("x").wait();
  assert.equal((await exact.getMetadata()).object, "folder/");
  assert.deepEqual((await storage.reference("folder").list()).items, []);
  const [listed] = (await storage.reference("folder").listAll({ exact: true })).items;
  assert.ok(listed.isEqual(exact));
  assert.equal(String(await listed.getData(1)), "x");
  await listed.delete();
  assert.ok(storage.exactReference("a/b").isEqual(storage.reference("a/b")));
  await assert.rejects(storage.exactReference("").getMetadata(), { reason: "invalidArgument" });
});

check("a download URL is for anybody, until it is revoked", async (room) => {
  const storage = await room.spawn();
  const place = storage.reference("it rained?.txt");
  await place.putData("It rained.").wait();
  const url = await place.downloadURL();
  assert.equal(await (await fetch(url)).text(), "It rained.");
  assert.ok(storage.reference(url).isEqual(place));
  const fresh = await place.revokeDownloadURL();
  assert.equal((await fetch(fresh)).status, 200);
  const old = await fetch(url);
  assert.equal(old.ok, false);
});

check("settings and tokens", async (room) => {
  const storage = await room.spawn();
  const settings = await storage.updateSettings({ maxUploadRetryTime: 30 });
  assert.equal(settings.maxUploadRetryTime, 30);
  assert.deepEqual(await storage.getSettings(), settings);
  assert.equal(await storage.setToken("secret", { kind: "appCheckToken", expiresIn: 3600.5 }), undefined);
  await storage.setToken(null);
  await assert.rejects(storage.setToken("se cret"), ({ reason, data, message }) => {
    return reason === "invalidArgument" && data.param === "token" && !message.includes("cret");
  });
});

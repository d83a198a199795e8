"""One node of Ceph on 127.0.0.1: a monitor, one OSD in memory, and radosgw, in a temporary directory."""
import base64
import concurrent.futures
import ctypes
import hashlib
import hmac
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from email.utils import formatdate

PROGRAMS = ("monmaptool", "ceph-mon", "ceph-osd", "ceph", "radosgw", "radosgw-admin")
PACKAGES = "ceph-mon ceph-osd radosgw ceph-common"
BUCKET, KEY, SECRET = "bucket", "cephtestaccesskey", "cephtestsecretkey0123456789"
PATIENCE = 120  # seconds; nothing here takes as long

CONFIGURATION = """
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{mon}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
ms bind ipv6 = false
ms bind port min = {osd}
ms bind port max = {last}
auth cluster required = none
auth service required = none
auth client required = none
run dir = {place}
admin socket = {place}/$name.asok
log file = {place}/$name.log
log to stderr = false
crash dir = {place}
keyring = {place}/keyring
heartbeat file = {place}/$name.heartbeat
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon warn on pool no redundancy = false
ms mon client mode = crc
ms mon service mode = crc
ms mon cluster mode = crc
[mon]
mon data = {place}/mon
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 0
mon data avail warn = 0
paxos propose interval = 0.02
paxos min wait = 0.01
mon cluster log to file = false
[osd]
osd data = {place}/osd
osd objectstore = memstore
memstore device bytes = 8589934592
osd op num shards = 2
osd crush initial weight = 1
osd max object name len = 2048
[client]
rgw frontends = beast endpoint=127.0.0.1:{rgw}
rgw data = {place}/rgwdata
rgw rados pool pg num min = 1
rgw enable ops log = false
rgw enable usage log = false
rgw run sync thread = false
rgw thread pool size = 32
rgw override bucket index max shards = 1
rgw dynamic resharding = false
# How long a Complete whose process was killed blocks the next one, and how long lost bytes stay readable.
rgw mp lock max time = 3
rgw gc obj min wait = 1
"""


def missing():
    return [program for program in PROGRAMS if not shutil.which(program)]


def ends_with_this_thread():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Node:
    def __init__(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="ceph."))
        self.processes, self.gateway = [], None
        # A process ends with the thread that has started it.
        self.starter = concurrent.futures.ThreadPoolExecutor(max_workers=1)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in [*self.processes, *([self.gateway] if self.gateway else [])]:
            process.kill()
            process.wait()
        self.starter.shutdown()
        shutil.rmtree(self.place, ignore_errors=True)

    @property
    def address(self):
        return "127.0.0.1", self.port

    def start(self):
        mon, self.port = free_ports(2)
        first = free_range(12)
        self.configuration = self.place / "ceph.conf"
        fsid = str(uuid.uuid4())
        self.configuration.write_text(CONFIGURATION.format(
            fsid=fsid, mon=mon, osd=first, last=first + 11, rgw=self.port, place=self.place))
        (self.place / "keyring").touch()
        for name in ("mon", "osd", "rgwdata"):
            (self.place / name).mkdir()
        monitors = str(self.place / "monmap")
        self.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v2:127.0.0.1:{mon}]", monitors)
        self.run("ceph-mon", *self.conf, "-i", "a", "--mkfs", "--monmap", monitors)
        self.processes.append(self.begin("ceph-mon", "-f", "-i", "a"))
        identity = str(uuid.uuid4())
        self.run("ceph-osd", *self.conf, "-i", "0", "--mkfs", "--osd-uuid", identity)
        self.run("ceph", *self.conf, "osd", "new", identity, "0")
        self.processes.append(self.begin("ceph-osd", "-f", "-i", "0"))
        # The first client makes the pools: two at once would wait for each other.
        self.admin(
            "user", "create", "--uid=test", "--display-name=test", f"--access-key={KEY}", f"--secret-key={SECRET}")
        self.start_gateway()
        until(lambda: self.make_bucket() in (200, 409), "radosgw makes no bucket")

    @property
    def conf(self):
        return "-c", str(self.configuration)

    def run(self, *command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr.decode()[-2000:]}")
        return done.stdout

    def begin(self, program, *words):
        with open(self.place / f"{program}.out", "ab") as output:
            return self.starter.submit(
                subprocess.Popen, [program, *self.conf, *words], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                preexec_fn=ends_with_this_thread).result()

    def admin(self, *words):
        return self.run("radosgw-admin", *self.conf, "-n", "client.admin", *words)

    def start_gateway(self):
        self.gateway = self.begin("radosgw", "-f", "-n", "client.rgw.a")
        until(self.listens, "radosgw does not listen")

    def kill_gateway(self):
        self.gateway.kill()
        self.gateway.wait()

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(self.address) == 0

    def collect_garbage(self):
        """Removes the bytes that no object has any more, so that what was lost by mistake is seen."""
        time.sleep(2)  # `rgw gc obj min wait`, in the time of radosgw
        self.admin("gc", "process", "--include-all")

    def make_bucket(self):
        try:
            return self.answer("PUT", f"/{BUCKET}")[0]
        except OSError:
            return 0

    def answer(self, method, path, body=b"", kind="", **headers):
        """The status, the headers and the body of another program's request. With the second version of signatures, which is short."""
        date = formatdate(usegmt=True)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        signed = "".join(f"{name}:{named[name]}\n" for name in sorted(named) if name.startswith("x-amz-"))
        mac = hmac.new(SECRET.encode(), f"{method}\n\n{kind}\n{date}\n{signed}{path}".encode(), hashlib.sha1).digest()
        connection = http.client.HTTPConnection(*self.address, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {
                "Date": date, "Authorization": f"AWS {KEY}:{base64.b64encode(mac).decode()}", **named,
                **({"Content-Type": kind} if kind else {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()


def until(holds, otherwise):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(otherwise)
        time.sleep(0.05)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def free_range(count):
    """The first of so many free ports in a row."""
    for first in range(20000 + os.getpid() % 1000 * 12, 32700, count):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for number, each in enumerate(sockets):
                each.bind(("127.0.0.1", first + number))
            return first
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    raise SystemExit(f"there are no {count} free ports in a row")

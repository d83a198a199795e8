"""What a disk may hold after the power fails: what was synced for sure, and any part of the rest.

A file's bytes are sure once it was synced; its name, once its directory was. Names in one directory change in order,
as in any journal; bytes reach the disk in any order, and by sectors.
"""
import hashlib
import random

SECTOR = 512
TRACELESS = "-shm", "/socket"  # made anew by the first who opens the database, or listens
# The directories of objects, and those above them. The names that a failed sync left out are not in a later one, unless they are made anew.
LASTING = "work", "one", "two", "root", "objects", "spool"


class File:
    def __init__(self, data=b""):
        self.sure, self.now, self.pending = bytearray(data), bytearray(data), []

    def change(self, offset, data):
        """Writes; without data it is cut, or grows."""
        self.pending.append((offset, data))
        apply(self.now, offset, data)

    def sync(self):
        for change in self.pending:
            apply(self.sure, *change)
        self.pending = []

    def fail(self):
        """A sync fails: the system counts as written what the disk does not have."""
        self.pending = []

    def some(self, random):
        data = bytearray(self.sure)
        for offset, piece in self.pending:
            fate = random.randrange(4)
            if fate == 0:
                apply(data, offset, piece)
            elif fate == 1 and piece is not None:
                end = random.randrange(len(piece)) // SECTOR * SECTOR
                apply(data, offset, piece[:end])
        return bytes(data)


def apply(target, offset, data):
    if data is None:
        del target[offset:]
    if len(target) < offset:
        target.extend(bytes(offset - len(target)))
    if data:
        target[offset:offset + len(data)] = data


DIRECTORY = object()


class Disk:
    """Follows the notes of what was done to a directory."""

    def __init__(self, top):
        self.top, self.files = str(top), {}
        self.names = {self.top: DIRECTORY}
        for path in top.rglob("*"):
            if path.is_socket():
                continue
            self.names[str(path)] = DIRECTORY if path.is_dir() else self.inode(path.stat().st_ino, path.read_bytes())
        self.sure, self.pending = dict(self.names), []  # of all directories, in order

    def inode(self, number, data=b""):
        return self.files.setdefault(number, File(data))

    def rename(self, changes):
        self.pending.append(changes)
        enact(self.names, changes)

    def follow(self, note):
        name, inode, offset, length, result, path, path2, data = note
        name = name.lstrip("!")
        if path.endswith(TRACELESS):
            return
        if result < 0:
            if name in ("fsync", "fdatasync", "sync_file_range"):
                if path.rpartition("/")[2] in LASTING and self.names.get(path) is DIRECTORY:
                    self.pending = [changes for changes in self.pending if not is_of(path, changes)]
                else:
                    self.inode(inode).fail()
            return
        if name in ("open-new", "open-empty") and path not in self.names:
            self.files.pop(inode, None)  # numbers are used again
            self.rename({path: self.inode(inode)})
        elif name == "open-unnamed":
            self.files.pop(inode, None)
        elif name == "open-empty":
            self.inode(inode).change(0, None)
        elif name in ("write", "pwrite", "pwrite64"):
            self.inode(inode).change(offset, data)
        elif name == "ftruncate":
            self.inode(inode).change(offset, None)
        elif name in ("fsync", "fdatasync"):
            if self.names.get(path) is DIRECTORY:
                self.sync(path)
            else:
                self.inode(inode).sync()
        elif name == "mkdir":
            self.rename({path: DIRECTORY})
        elif name == "unlink":
            self.rename({path: None})
        elif name == "rename":
            self.rename({path: None, path2: self.names[path]})
        elif name == "link":
            self.rename({path: self.inode(inode) if inode else self.names[path2]})

    def sync(self, directory):
        rest = []
        for changes in self.pending:
            if is_of(directory, changes):
                enact(self.sure, changes)
            else:
                rest.append(changes)
        self.pending = rest

    def states(self, seed):
        """What may be there after the power failed now: a word for it, and `{path: bytes, or None for a directory}`."""
        dice = random.Random(seed)
        some = dict(self.sure)
        for changes in self.pending[:dice.randrange(len(self.pending) + 1)]:
            enact(some, changes)
        drawn = {file: file.some(dice) for file in self.files.values()}
        yield "nothing more than was synced", self.state(self.sure, lambda file: bytes(file.sure))
        yield "names without bytes", self.state(self.names, lambda file: bytes(file.sure))
        yield "bytes without names", self.state(self.sure, lambda file: bytes(file.now))
        yield "everything", self.state(self.names, lambda file: bytes(file.now))
        yield "some bytes and names", self.state(some, lambda file: drawn[file])
        yield "some bytes and all names", self.state(self.names, lambda file: drawn[file])

    def state(self, names, content):
        state = {}
        for path in sorted(names):
            parent = path.rpartition("/")[0]
            if path == self.top or parent == self.top or parent in state:
                state[path] = None if names[path] is DIRECTORY else content(names[path])
        return state


def is_of(directory, changes):
    return any(path.rpartition("/")[0] == directory for path in changes)


def enact(names, changes):
    for path, target in changes.items():
        if target is None:
            names.pop(path, None)
        else:
            names[path] = target


def digest(state):
    whole = hashlib.sha1()
    for path, data in state.items():
        whole.update(f"{path} {None if data is None else len(data)} ".encode() + (data or b""))
    return whole.digest()


def read_notes(path):
    """`(number, note)` for each call that changed something."""
    text, place = path.read_bytes(), 0
    while place < len(text):
        end = text.index(b"\n", place)
        number, name, inode, offset, length, result, path, path2 = text[place:end].decode().split("\t")
        place = end + 1
        data = None
        if name.lstrip("!") in ("write", "pwrite", "pwrite64") and int(result) > 0:
            data = text[place:place + int(result)]
            place += int(result)
        yield int(number), (name, int(inode), int(offset), int(length), int(result), path, path2, data)

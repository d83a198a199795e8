"""What the commands do, written down a second time: objects by (bucket, name), files by path."""
import re


class Refused(Exception):
    """Nothing is changed."""


class Missing(Exception):
    """The word names nothing: the command goes on where there are others."""


def last_name(name):
    """What follows the last slash, with the slashes at the end."""
    kept = name.rstrip("/")
    return name if not kept else kept[kept.rfind("/") + 1:] + name[len(kept):]


def regex(pattern):
    text, at, found = "", 0, pattern
    while at < len(found):
        if found.startswith("**", at):
            is_first = at == 0 or found[at - 1] == "/"
            while at < len(found) and found[at] == "*":
                at += 1
            if is_first and found.startswith("/", at):
                text, at = text + "(?:.*/)?", at + 1
            else:
                text += ".*"
            continue
        if found[at] == "[":
            first = at + 1 + (found[at + 1:at + 2] in ("!", "^"))
            end = found.find("]", first + 1)
            inner = found[first:end]
            if end < 0 or "/" in inner or any(low > high for low, high in re.findall("(.)-(.)", inner)):
                raise Refused("no pattern")
            negated = first > at + 1
            inner = "".join("\\" + c if c in "\\]^[" else c for c in inner)
            text, at = text + f"(?!/)[{'^' * negated}{inner}]", end + 1
            continue
        text += {"*": "[^/]*", "?": "[^/]"}.get(found[at], re.escape(found[at]))
        at += 1
    return re.compile(text, re.DOTALL)


class World:
    def __init__(self, objects, files):
        self.objects, self.files, self.directories = objects, files, set()
        self.buckets = {"default-bucket"}  # Those that have had an object.

    def copy(self):
        return World(dict(self.objects), dict(self.files))

    def run(self, words):
        """Changes what the command changes, and returns its status: 0, or 1 for any other."""
        verb, self.failed, self.reason = words[0], 0, ""
        self.buckets |= {bucket for bucket, _ in self.objects}
        flags, words = words[1:words.index("--")], words[words.index("--") + 1:]
        self.recursive, self.exact = "-r" in flags, "--exact" in flags
        self.is_sure, self.keeps, self.is_dry = "-y" in flags, "--no-clobber" in flags, "--dry-run" in flags
        before = dict(self.objects)
        try:
            if "" in words:
                raise Refused("an empty argument")
            getattr(self, verb)(words)
            if self.is_dry:
                self.objects = before
        except (Refused, Missing) as error:
            self.reason = str(error)
            return 1
        return 1 if self.failed else 0

    # Names

    def reference(self, text):
        """Bucket and name, as they are looked up."""
        bucket, name = "default-bucket", text
        is_url = text.startswith("gs://")
        if is_url:
            bucket, _, name = text[5:].partition("/")
        if self.exact:
            return bucket, name
        segments = [segment for segment in name.split("/") if segment]
        if not is_url and not segments or {".", ".."} & set(segments):
            raise Refused("no reference")
        exact, found = (bucket, name.rstrip("/")), (bucket, "/".join(segments))
        if exact != found and exact[1] and (self.is_there(exact) or self.below(exact)):
            raise Refused("a name with an empty name in it, or one without")
        return found

    def exact_reference(self, text):
        bucket, _, name = text[5:].partition("/") if text.startswith("gs://") else ("default-bucket", "", text)
        return bucket, name

    def has_empty_end(self, text):
        return not self.exact and len(text) > 2 and text.endswith("//")

    def is_there(self, reference):
        return reference in self.objects

    def below(self, reference):
        """The rest of the name of each object below a folder."""
        bucket, name = reference
        prefix = name if not name or name.endswith("/") else name + "/"
        return {key: key[1][len(prefix):] for key in self.objects if key[0] == bucket and key[1].startswith(prefix)}

    def is_folder_text(self, text):
        return not self.exact and text.endswith("/")

    def is_pattern(self, text):
        if self.exact or not re.search(r"[*?\[]", text):
            return False
        reference = self.reference(text)
        if not self.is_folder_text(text) and self.is_there(reference) or self.below(reference):
            return False
        if text.startswith("/"):
            raise Refused("no pattern")
        bucket, name = reference
        return bool(re.search(r"[*?\[]", name[len(self.literal_folder(bucket, name)):]))

    def literal_folder(self, bucket, name):
        """The longest beginning, of whole segments, without special characters or that a folder has as its name."""
        end = 0
        for at, character in enumerate(name):
            if character == "/":
                if re.search(r"[*?\[]", name[end:at]) and not self.below((bucket, name[:at])):
                    break
                end = at + 1
        return name[:end]

    def sources(self, text):
        """Dictionaries: name, itself, members by object, folder, is_match."""
        if self.is_pattern(text):
            return self.matches(text)
        bucket, name = reference = self.reference(text)
        if not name and text != f"gs://{bucket}":
            raise Refused("a whole bucket is gs://BUCKET")
        if self.recursive and self.has_empty_end(text):
            # Only what begins with just this name: it is no other way to write a shorter one.
            bucket, name = reference = self.exact_reference(text)
            if not self.below(reference):
                raise Missing("an empty name at the end")
        if not self.recursive:
            if not name:
                raise Refused("a bucket without -r")
            if self.is_folder_text(text):
                raise Refused("a folder without -r")
            return [dict(name=last_name(name), itself=reference, members=None)]
        members = self.below(reference)
        self.check_bucket(bucket)
        has_itself = not self.is_folder_text(text) and not name.endswith("/") and self.is_there(reference)
        if has_itself and not members:
            return [dict(name=last_name(name), itself=reference, members=None)]
        if name and not members:
            raise Missing("nothing there")
        own = last_name(name)
        own = own[:-1] if own.endswith("/") else own
        return [dict(name=own, itself=reference if has_itself else None, members=members, folder=reference)]

    def matches(self, text):
        bucket, pattern = "default-bucket", text
        if text.startswith("gs://"):
            bucket, _, pattern = text[5:].partition("/")
        only_folders, pattern = pattern.endswith("/"), "/".join(filter(None, pattern.split("/")))
        if only_folders and not self.recursive:
            raise Refused("a folder without -r")
        if self.has_empty_end(text):
            raise Refused("no pattern")
        start = text[:re.search(r"[*?\[]", text).start()].rpartition("/")
        if start[0] != "gs:/" and self.has_empty_end(start[0] + start[1]):
            prefix = self.exact_reference(start[0] + start[1])[1]
            if not self.below((bucket, prefix)):
                raise Missing("an empty name before the pattern")
            pattern = "/".join(filter(None, text[len(start[0]) + 1:].split("/")))
        else:
            prefix = self.literal_folder(bucket, pattern)
            pattern = pattern[len(prefix):]
        expression, crosses = regex(pattern), "**" in pattern
        self.check_bucket(bucket)
        sources, taken, left_out = [], {}, set()
        for rest in sorted(self.below((bucket, prefix)).values()):
            if any(rest.startswith(folder) for folder in taken):
                continue
            if self.recursive:
                cuts = [at for at, c in enumerate(rest) if c == "/" and expression.fullmatch(rest[:at])]
                if cuts:
                    taken[rest[:cuts[0] + 1]] = True
                    folder = (bucket, prefix + rest[:cuts[0]])
                    if not folder[1] or folder[1].endswith("/"):
                        folder = (bucket, folder[1] + "/")
                    own = last_name(folder[1])
                    own = own[:-1] if own.endswith("/") else own
                    sources.append(dict(name=rest[:cuts[0]] if crosses else own, itself=None,
                                        members=self.below(folder), folder=folder, is_match=True))
                    continue
            elif not crosses:
                left_out |= {rest[:at] for at, c in enumerate(rest) if c == "/" and expression.fullmatch(rest[:at])}
            if not only_folders and expression.fullmatch(rest):
                sources.append(dict(name=rest if crosses else last_name(prefix + rest), itself=(bucket, prefix + rest),
                                    members=None, is_match=True))
        self.failed += len(left_out)
        if not sources:
            raise Missing("nothing matches")
        return sources

    def check_bucket(self, bucket):
        if bucket not in self.buckets:
            raise Missing("no such bucket")

    def all_sources(self, texts):
        found = []
        for text in texts:
            try:
                found += self.sources(text)
            except Missing:
                self.failed += 1
                if len(texts) == 1:
                    raise
        return found

    # Places

    def placed(self, source, kind, one_of_many):
        keeps = one_of_many or kind == "slash"
        prefix = source["name"] + "/" if keeps and source["name"] else ""
        placed = []
        if source["itself"] is not None:
            inside = keeps or kind == "bucket" or kind == "folder" and source["members"] is None
            placed.append((source["itself"], source["name"] if inside else None))
        for item, name in (source["members"] or {}).items():
            placed.append((item, prefix + name))
        return placed

    def object_destination(self, text, takes_many, is_tree):
        bucket, name = reference = self.reference(text)
        if "*" in name[len(self.literal_folder(bucket, name)):] and self.is_pattern(text):
            raise Refused("a pattern for one name")
        if text.endswith("/") and (not self.exact or not name):
            kind = "slash"
        elif not name:
            kind = "bucket"
        elif not self.exact and (takes_many or not is_tree) and self.below(reference) and not self.is_there(reference):
            kind = "folder"
        elif self.exact and takes_many:
            kind = "slash"
        else:
            kind = "plain"
        if kind == "plain" and takes_many:
            raise Refused("several to one name")
        return reference, kind

    def object_target(self, reference, place):
        bucket, name = reference
        if place is None:
            return reference
        return bucket, (name if not name or name.endswith("/") else name + "/") + place

    def object_plan(self, sources, text, takes_many, trees=False):
        """Pairs of what is copied and what it becomes. With `trees` a folder is one target, whatever is in it."""
        is_tree = bool(sources) and sources[0]["members"] is not None
        reference, kind = self.object_destination(text, takes_many, is_tree)
        pairs, folders = [], []
        for source in sources:
            if source["members"] is not None and source["itself"] is None and kind == "plain":
                if not text.endswith("/") and self.is_there(reference):
                    raise Refused("a folder over an object")
            if trees and source["members"] is not None:
                self.check_name(source, sources)
                folders.append(source["name"])
            for item, place in self.placed(source, kind, takes_many):
                target = self.object_target(reference, place)
                if not target[1] or "\n" in target[1]:
                    self.failed += 1
                    continue
                pairs.append((item, target, source.get("folder")))
        if len({target for _, target, _ in pairs}) < len(pairs) or len(set(folders)) < len(folders):
            raise Refused("two for one name")
        return pairs

    @staticmethod
    def check_name(source, sources):
        if not source["name"] and len(sources) > 1 and not source.get("is_match"):
            raise Refused("no name of its own")

    # Commands

    def put(self, words):
        *paths, text = words
        sources = []
        for path in paths:
            plain = path.rstrip("/").removesuffix("/.") or path
            if path == "." or plain in self.directories:
                if not self.recursive:
                    raise Refused("a directory without -r")
                prefix = "" if path == "." else plain + "/"
                members = {name: name[len(prefix):] for name in self.files if name.startswith(prefix)}
                own = "" if path == "." or path.endswith("/.") else plain.rsplit("/", 1)[-1]
                sources.append(dict(name=own, itself=None, members=members))
            else:
                sources.append(dict(name=path.rsplit("/", 1)[-1], itself=path, members=None))
        for path, target, _ in self.object_plan(sources, text, len(paths) > 1, trees=True):
            if path in self.files:
                self.objects[target] = self.files[path]
            else:
                self.failed += 1

    def get(self, words):
        *texts, target = words
        sources = self.all_sources(texts)
        takes_many = len(texts) > 1 or any(source.get("is_match") for source in sources)
        kind = "slash" if target.endswith("/") else "folder" if target in self.directories else "plain"
        if takes_many and kind == "plain":
            raise Refused("several to one file")
        files, trees = {}, {}
        for source in sources:
            keeps = takes_many or kind == "slash"
            if source["itself"] is not None:
                inside = keeps or kind == "folder" and source["members"] is None
                self.add(files, trees, target, source["name"] if inside else None, source["itself"], files)
            if source["members"] is not None:
                self.check_name(source, sources)
                if source["itself"] is None and target in self.files:
                    raise Refused("a folder over a file")
                named = keeps and (source.get("is_match") or source["name"])
                self.add(files, trees, target, source["name"] if named else None, source, trees)
        targets = {**files, **trees}
        for path in targets:
            parents = {path[:at] for at, c in enumerate(path) if c == "/"}
            if path in (self.directories if path in files else self.files) or parents & (set(targets) | set(self.files)):
                raise Refused("a file for a directory")
        for path, item in files.items():
            lacks_directory = path == target and "/" in path and path.rpartition("/")[0] not in self.directories
            if item not in self.objects or lacks_directory:
                self.failed += 1
            else:
                self.files[path] = self.objects[item]
        for path, source in trees.items():
            self.get_tree(path, source["members"])

    def add(self, files, trees, target, place, item, kind):
        if place is not None and {"", ".", ".."} & set(place.split("/")):
            self.failed += 1
            return
        path = target.rstrip("/") if place is None else target.rstrip("/") + "/" + place
        if path in files or path in trees:
            raise Refused("two for one file")
        kind[path] = item

    def get_tree(self, directory, members):
        """What cannot be a file there fails alone."""
        names = {name for name in members.values() if not {"", ".", ".."} & set(name.split("/"))}
        for item, name in members.items():
            path = f"{directory}/{name}"
            parents = {path[:at] for at, c in enumerate(path) if c == "/"}
            is_beside = any(other.startswith(name + "/") for other in names)
            if name not in names or is_beside or path in self.directories or parents & set(self.files):
                self.failed += 1
            else:
                self.files[path] = self.objects[item]

    def cp(self, words, moves=False):
        *texts, text = words
        sources = self.all_sources(texts)
        takes_many = len(texts) > 1 or any(source.get("is_match") for source in sources)
        pairs = self.object_plan(sources, text, takes_many)
        targets = {target for _, target, _ in pairs}
        if moves and len({item for item, _, _ in pairs}) < len(pairs):
            raise Refused("moved twice")
        for item, target, folder in pairs:
            if item == target or item in targets:
                raise Refused("a target that is a source")
            if folder and target in self.below_names(folder, targets):
                raise Refused("into itself")
        for item, target, _ in pairs:
            if item not in self.objects:
                self.failed += 1
                continue
            if self.keeps and target in self.objects:
                continue
            self.objects[target] = self.objects[item]
            if moves:
                del self.objects[item]

    @staticmethod
    def below_names(folder, names):
        bucket, name = folder
        prefix = name if not name or name.endswith("/") else name + "/"
        return {key for key in names if key[0] == bucket and key[1].startswith(prefix)}

    def mv(self, words):
        self.cp(words, moves=True)

    def rm(self, words):
        found, sources = {}, self.all_sources(words)
        if not self.is_sure and not self.is_dry and any(not source.get("folder", (0, 1))[1] for source in sources):
            raise Refused("a whole bucket without -y")
        for source in sources:
            for item in ([source["itself"]] if source["itself"] else []) + list(source["members"] or {}):
                found[item] = True
        for item in found:
            if self.objects.pop(item, None) is None:
                self.failed += 1

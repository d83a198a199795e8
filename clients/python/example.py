"""Uploads a file and shows how it goes: `python3 example.py FILE REFERENCE`. Ctrl-C pauses the upload, as does a kill; the
same command resumes it. The exit status after Ctrl-C is 130.
"""

import sys
from storage_rpc import ProgressBar, Storage, StorageError

file, place = sys.argv[1:]
try:
    with Storage() as storage, ProgressBar() as bar:
        reference = storage.reference(place)
        task = reference.put_file(file, key=f"{file} to {reference}")
        if task.continued:
            print(f"resuming {file}", file=sys.stderr)
        task.observe("progress", bar)
        metadata = task.wait()
    print(f"{reference}: {metadata.size} bytes, MD5 {metadata.md5_hash}")
except KeyboardInterrupt:
    print("paused; the same command resumes the upload", file=sys.stderr)
    sys.exit(130)
except StorageError as error:
    sys.exit(f"{error.name}: {error.message}")

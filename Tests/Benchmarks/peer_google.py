"""Uploads with google-cloud-storage, to the sink that STORAGE_EMULATOR_HOST names; prints seconds or objects per second.

    peer_google.py large FILE CHUNK | small COUNT BYTES        CHUNK in bytes, 0 for the library's own
"""
import sys
import time

from google.auth.credentials import AnonymousCredentials
from google.cloud import storage

bucket = storage.Client(project="bench", credentials=AnonymousCredentials()).bucket("bench")
start = time.perf_counter()
if sys.argv[1] == "large":
    bucket.blob("large", chunk_size=int(sys.argv[3]) or None).upload_from_filename(sys.argv[2])
    print(time.perf_counter() - start)
else:
    data = bytes(int(sys.argv[3]))
    for number in range(int(sys.argv[2])):
        bucket.blob(f"small/{number}").upload_from_string(data)
    print(int(sys.argv[2]) / (time.perf_counter() - start))

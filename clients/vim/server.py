"""Firebase Storage, as far as the metadata of one object, for those who have the token "fresh". Prints its URL."""

import http.server
import json

NOW = "2026-01-01T00:00:00.000Z"
FILM = {"name": "film.mov", "bucket": "default-bucket", "size": "5", "generation": "1", "metageneration": "1"}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_known = self.headers["Authorization"] == "Firebase fresh"
        body = json.dumps({**FILM, "timeCreated": NOW, "updated": NOW} if is_known else {}).encode()
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()

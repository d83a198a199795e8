import JSONText
import Methods

/// The text of `--help`, on one screen.
package enum Help {
    package static let version = ServiceContext.version

    package static let text = """
        storage-rpc: Cloud Storage for Firebase, for every language: JSON-RPC 2.0 over stdio and Unix sockets.

        storage-rpc [serve] [FLAGS]              serve one client on stdin and stdout
        storage-rpc serve --socket PATH [FLAGS]  serve many clients on a Unix socket (add --stdio for both)
        storage-rpc connect [FLAGS]              serve one client on stdin and stdout through the service that all
                                                 clients of the root share; start it if there is none
        storage-rpc put FILE REFERENCE [FLAGS]   upload a file; REFERENCE is gs://BUCKET/PATH or a PATH
        storage-rpc get REFERENCE FILE [FLAGS]   download to a file, or with - to stdout
        storage-rpc ls [REFERENCE] [FLAGS]       list the direct children: names, folders with a slash
        storage-rpc rm REFERENCE... [FLAGS]      delete objects
        storage-rpc url REFERENCE [FLAGS]        print a URL from which anybody can download
        storage-rpc trace FILE [--html OUT]      show a trace of serve --trace as a timeline, or as a page for a browser

        storage
          --engine ENGINE        embedded: this machine's disk (the default); firebase, gcs: that service
          --root DIR             objects and state; default $XDG_DATA_HOME/storage-rpc or ~/.local/share/storage-rpc
          --http ADDRESS:PORT    where to serve download URLs; default: any free port of 127.0.0.1
          --gateway ADDRESS:PORT answer SDKs of Firebase Storage and Google Cloud Storage there (with serve)
          --allow-host NAME      a name that requests to the gateway may have, besides localhost (repeatable)
          --tasks pause|resume|forget   unfinished uploads and downloads of an earlier process: pause is the default;
                                 resume replaces no object that is newer than the task
          --trace FILE           write every message and its time to FILE, without tokens (with serve)
          --harness              for tests: clients may change faults and time; without --root, objects are temporary;
                                 other engines than embedded need an --endpoint on this machine (with serve)
          --bucket NAME          the default bucket, also as gs://NAME; default: default-bucket
          --endpoint URL         use another server of the engine, as do FIREBASE_STORAGE_EMULATOR_HOST and
                                 STORAGE_EMULATOR_HOST; plain http to other machines needs --allow-insecure

        shared service
          --shared               listen on ROOT/socket, where connect finds the service; --socket implies it
          --idle-timeout SECONDS end after so long without connections and running tasks; 60 with connect
          --wait-for-root SECONDS  wait for another process to release the root; 5 with connect, else 0

        credentials for the engine, besides auth/setToken
          --id-token-file FILE, --id-token-command COMMAND, STORAGE_RPC_ID_TOKEN       Firebase Authentication
          --app-check-token-file, --app-check-token-command, STORAGE_RPC_APP_CHECK_TOKEN      Firebase App Check
          --access-token-file, --access-token-command, STORAGE_RPC_ACCESS_TOKEN        Google Cloud (OAuth 2.0)
          --service-account FILE a key file of Google Cloud
          --user-project PROJECT the project of Google Cloud that pays; else quota_project_id of the credentials
          --application-default  GOOGLE_APPLICATION_CREDENTIALS, gcloud's, this machine's: the default with gcs
          Proxies and certificates: https_proxy, no_proxy, SSL_CERT_FILE, SSL_CERT_DIR.

        put, get, ls, rm, url
          --socket PATH          use the service on that socket instead of starting one
          --json                 print the result as JSON
          --expires-in SECONDS   lifetime of the URL; default: 7 days (with url and --engine gcs)
          --exact                REFERENCE is an object's exact name, as in folder/ or a//b; ls lists such names
          --if-generation-match N, --if-metageneration-match N
                                 put and rm only if the object has this version; 0: only if there is none
          --trace                show the JSON-RPC conversation on stderr

        defaults of the clients' settings: seconds for retries, and the size of the chunks of uploads
          --max-upload-retry-time 600, --max-download-retry-time 600, --max-operation-retry-time 120
          --upload-chunk-size-bytes N   default: grows with the upload

        bounds, with their defaults; protocol/README.md explains them
        \(bounds)

        anywhere
          --allow-read DIR, --allow-write DIR   clients may read, or write, only files below these; repeatable
          --log-level LEVEL      debug, info, warning (the default), error or off; logs go to stderr;
                                 debug logs each connection, request and retry
          --help, --version

        A first session:
          printf '{"jsonrpc":"2.0","id":1,"method":"service/ping"}\\n' | storage-rpc
        Exit status: 0 done, 1 failed, 64 invalid command line.
        """

    /// The bounds with their defaults, three a line.
    private static let bounds: String = {
        let cells = Bound.all.map { "\($0.flag) \(Limits()[keyPath: $0.value])" }
        return stride(from: 0, to: cells.count, by: 3).map { start in
            let row = cells[start..<min(start + 3, cells.count)].map { cell in
                cell + String(repeating: " ", count: max(0, 37 - cell.count))
            }
            return "  " + row.joined().trimmingSuffix(" ")
        }.joined(separator: "\n")
    }()
}

extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
        String(reversed().drop { $0 == character }.reversed())
    }
}

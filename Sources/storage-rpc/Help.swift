import JSONText
import Methods

/// What `--help` says, on one screen.
enum Help {
    static let version = ServiceContext.version

    static let text = """
        storage-rpc: Cloud Storage for Firebase, for every language: JSON-RPC 2.0 over stdio and Unix sockets.

        storage-rpc [serve] [FLAGS]              serve one client on stdin and stdout
        storage-rpc serve --socket PATH [FLAGS]  serve many clients on a Unix socket (add --stdio for both)
        storage-rpc connect [FLAGS]              serve one client on stdin and stdout through the service that all
                                                 clients of the root share; started where there is none
        storage-rpc put FILE REFERENCE [FLAGS]   upload a file; REFERENCE is gs://BUCKET/PATH or a PATH
        storage-rpc get REFERENCE FILE [FLAGS]   download to a file, or with - to stdout
        storage-rpc ls [REFERENCE] [FLAGS]       list what is directly below: names, folders with a slash
        storage-rpc rm REFERENCE... [FLAGS]      delete objects
        storage-rpc url REFERENCE [FLAGS]        print a URL that anybody may download from
        storage-rpc trace FILE [--html OUT]      show what serve --trace wrote: as a timeline, or as a page for a browser

        where objects are kept
          --engine ENGINE        embedded: on this machine's disk (the default); firebase, gcs: by that service
          --root DIR             objects and state; default $XDG_DATA_HOME/storage-rpc or ~/.local/share/storage-rpc
          --http ADDRESS:PORT    where download URLs are served; any free port of 127.0.0.1 where not given
          --tasks WISH           uploads and downloads that an earlier process left unfinished: pause (the default),
                                 resume (but replace nothing that is newer than the task) or forget
          --trace FILE           write every message and its time to FILE, without tokens (with serve)
          --bucket NAME          the default bucket, also as gs://NAME; default-bucket where not given
          --endpoint URL         another server than the service's own; so do FIREBASE_STORAGE_EMULATOR_HOST and
                                 STORAGE_EMULATOR_HOST. Plain http to other machines needs --allow-insecure

        a service that is shared
          --shared               listen on ROOT/socket, where connect looks for a service; so does --socket
          --idle-timeout SECONDS end when nobody was connected and nothing ran for so long; 60 with connect
          --wait-for-root SECONDS  wait for another process that uses the root; 5 with connect, else 0

        who asks a service, besides auth/setToken
          --id-token-file FILE, --id-token-command COMMAND, STORAGE_RPC_ID_TOKEN       Firebase Authentication
          --app-check-token-file, --app-check-token-command, STORAGE_RPC_APP_CHECK_TOKEN      Firebase App Check
          --access-token-file, --access-token-command, STORAGE_RPC_ACCESS_TOKEN        Google Cloud (OAuth 2.0)
          --service-account FILE a key file of Google Cloud
          --user-project PROJECT the project of Google Cloud that pays; else quota_project_id of the credentials
          --application-default  GOOGLE_APPLICATION_CREDENTIALS, gcloud's, this machine's: the default with gcs
          Proxies and certificates: https_proxy, no_proxy, SSL_CERT_FILE, SSL_CERT_DIR.

        put, get, ls, rm, url
          --socket PATH          through the service that listens there, instead of one of its own
          --json                 print the result as JSON
          --expires-in SECONDS   how long the URL is good; 7 days where not given (with url and --engine gcs)
          --exact                REFERENCE is an object's exact name, as in folder/ or a//b; ls tells such names
          --if-generation-match N, --if-metageneration-match N
                                 put and rm only where just that version is there; 0: where nothing is
          --trace                show the JSON-RPC conversation on stderr

        how long failures are retried, in seconds, and how uploads are cut: what clients find that set nothing else
          --max-upload-retry-time 600, --max-download-retry-time 600, --max-operation-retry-time 120
          --upload-chunk-size-bytes N   growing with the upload where not given

        bounds, with their defaults: what each means is in protocol/README.md
        \(bounds)

        anywhere
          --allow-read DIR, --allow-write DIR   clients may have only files below these read, or written; repeatable
          --log-level LEVEL      debug, info, warning (the default), error or off; logs go to stderr;
                                 debug has a line for each connection, request and retry
          --help, --version

        A first session:
          printf '{"jsonrpc":"2.0","id":1,"method":"service/ping"}\\n' | storage-rpc
        Exit status: 0 done, 1 failed, 64 the command line cannot be understood.
        """

    /// Three in a line.
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

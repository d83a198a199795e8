import Platform

// The man page: the commands and flags of the pages of help, and the text around them.

extension Help {
    static var manPage: String {
        func line(_ text: String) -> String {
            // Escapes of characters that are typed: without them a page may show other hyphens, quotes and accents.
            let escapes: [Character: String] = [
                "\\": "\\(rs", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti",
            ]
            let text = text.map { escapes[$0] ?? String($0) }.joined()
            return text.hasPrefix(".") ? "\\&" + text : text
        }
        func flags(_ flags: [Flag]) -> [String] {
            flags.flatMap { flag in
                [
                    ".TP", ".B " + line(flag.names.joined(separator: ", ") + (flag.value.map { " " + $0 } ?? "")),
                    line(flag.text),
                ]
            }
        }
        var lines = [
            ".TH STORAGE\\-RPC 1 \"\" \"storage\\-rpc \(version)\"", ".SH NAME",
            "storage\\-rpc \\- uploads and downloads that pause and resume", ".SH SYNOPSIS",
        ]
        for page in CommandPage.all {
            lines += [".B " + line("storage-rpc \(page.name)")]
            lines += [line((page.synopsis.isEmpty ? "" : page.synopsis + " ") + "[FLAGS]"), ".br"]
        }
        lines += [".B storage\\-rpc help", "[COMMAND|TOPIC|PAGE]", ".br", ".B storage\\-rpc version", ".SH COMMANDS"]
        for page in CommandPage.all {
            lines += [".SS " + line("\(page.name) \(page.synopsis)"), line(page.text.joined(separator: " "))]
            lines += flags(page.flags)
        }
        for (title, text) in [("COPYING", copying), ("PATTERNS", patterns)] {
            lines += [".SH " + title, ".nf"]
            lines += text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }
            lines.append(".fi")
        }
        for group in [FlagGroup.metadata] + FlagGroup.shared {
            lines += [".SH " + group.name.uppercased(), line(group.title) + "."] + flags(group.flags)
            lines += group.notes.isEmpty ? [] : [".PP", line(group.notes.joined(separator: " "))]
        }
        lines += [".SH EXAMPLES", "To begin with:", ".PP", ".nf"] + firstSession.map(line)
        lines += [".fi", ".PP", "At least one for each command:", ".PP", ".nf"]
        lines += CommandPage.all.flatMap(\.examples).map { line(command($0)) } + [".fi"]
        for (title, entries) in [("ENVIRONMENT", environment), ("FILES", files), ("EXIT STATUS", exitStatus)] {
            lines.append(".SH " + title)
            for (name, text) in entries { lines += [".TP", ".B " + line(name), line(text)] }
        }
        lines += [
            ".SH SEE ALSO", ".BR gsutil (1),", ".BR rclone (1);",
            line("storage-rpc help pages, which lists the documentation;"),
            line("help protocol begins with a session, help reference has every method."),
        ]
        return lines.joined(separator: "\n")
    }

    /// Lines that can be pasted unchanged.
    private static let firstSession = [
        "echo 'Hello, world!' > hello.txt", "storage-rpc put hello.txt docs/", "storage-rpc ls -l docs",
        "storage-rpc cat docs/hello.txt", "storage-rpc mv docs/hello.txt docs/greeting.txt",
        "storage-rpc get docs/greeting.txt copy.txt", "storage-rpc rm -r docs",
    ]

    /// The environment variables that the program reads.
    package static let environment = [
        ("XDG_DATA_HOME", "The root is storage-rpc below it, unless --root is given. By default ~/.local/share."),
        ("HOME", "The home directory; by default that of the user database."),
        ("TMPDIR", "The directory for temporary plans of folders, and for the harness; /tmp by default."),
        ("PAGER", "Shows pages of the documentation on a terminal; less by default."),
        ("TERM", "If it is dumb, progress is shown in lines, and nothing has colors."),
        ("NO_COLOR", "Nothing has colors, also on a terminal."),
        ("TZ", "The time zone of ls -l."),
        ("STORAGE_RPC_TRACE", "The file of serve --trace, without the flag."),
        ("STORAGE_RPC_ID_TOKEN", "A token of Firebase Authentication."),
        ("STORAGE_RPC_APP_CHECK_TOKEN", "A token of Firebase App Check."),
        ("STORAGE_RPC_ACCESS_TOKEN", "An OAuth 2.0 token of Google Cloud."),
        ("STORAGE_RPC_ACCESS_KEY", "An access key of Amazon S3, ID:SECRET or ID:SECRET:SESSION-TOKEN."),
        ("AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN", "An access key of Amazon S3 in parts."),
        ("AWS_CREDENTIAL_EXPIRATION", "When the access key expires."),
        ("AWS_PROFILE", "The profile with the access key, without --profile."),
        ("AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE", "Other files than ~/.aws/config and ~/.aws/credentials."),
        ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, AWS_CONTAINER_CREDENTIALS_FULL_URI", "A container's access keys."),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "What authorizes them."),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "A web identity, which is refused: --access-key-command can exchange it."),
        ("AWS_EC2_METADATA_DISABLED", "With true, a machine of Amazon is not asked for access keys."),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT, AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "Where it is asked."),
        ("AWS_REGION, AWS_DEFAULT_REGION", "The region of the engine s3, without --region."),
        ("AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL", "The server of the engine s3, without --endpoint."),
        ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "With true, the server is Amazon's own."),
        ("GOOGLE_APPLICATION_CREDENTIALS", "A file with application default credentials."),
        ("CLOUDSDK_CONFIG", "Where those of gcloud are; by default ~/.config/gcloud."),
        ("GCE_METADATA_HOST", "The metadata server of a machine of Google Cloud."),
        ("GOOGLE_CLOUD_QUOTA_PROJECT", "The project that pays, with application default credentials."),
        ("FIREBASE_STORAGE_EMULATOR_HOST", "The server of the engine firebase, without --endpoint."),
        ("STORAGE_EMULATOR_HOST", "The server of the engine gcs, without --endpoint."),
        ("https_proxy, HTTPS_PROXY, http_proxy, all_proxy, ALL_PROXY", "The proxy for https, for http, and for both."),
        ("no_proxy, NO_PROXY", "Hosts that are reached without a proxy."),
        ("SSL_CERT_FILE, CURL_CA_BUNDLE, SSL_CERT_DIR", "Certificates to trust."),
        ("LISTEN_PID, LISTEN_FDS, NOTIFY_SOCKET", "The protocol of service managers such as systemd."),
    ]

    private static let files = [
        ("~/.local/share/storage-rpc", "The root: objects and state, unless --root names another directory."),
        ("ROOT/socket", "Where the service of the root listens, while one runs."),
        ("PREFIX/share/doc/storage-rpc", "The documentation, where PREFIX/bin has the program."),
        ("ROOT/service.log", "The log of a service that storage-rpc connect or mcp has started."),
    ]

    private static let exitStatus = [
        ("0", "Success."), ("1", "The command, or a part of it, failed."), ("64", "The command line is invalid."),
        ("75", "The root is in use: by another process, or a service that does not answer or has other settings."),
        ("130", "Interrupted by SIGINT; other signals also give 128 plus their number."),
    ]
}

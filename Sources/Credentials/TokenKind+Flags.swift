import Storage

extension Token.Kind {
    /// The flag that names a file with a token of this kind.
    public var fileFlag: String { "--\(stem)-file" }
    /// The flag that names a command which prints one.
    public var commandFlag: String { "--\(stem)-command" }

    /// The environment variable that holds one.
    public var variable: String {
        switch self {
        case .idToken: "STORAGE_RPC_ID_TOKEN"
        case .accessToken: "STORAGE_RPC_ACCESS_TOKEN"
        case .appCheckToken: "STORAGE_RPC_APP_CHECK_TOKEN"
        }
    }

    private var stem: String {
        switch self {
        case .idToken: "id-token"
        case .accessToken: "access-token"
        case .appCheckToken: "app-check-token"
        }
    }
}

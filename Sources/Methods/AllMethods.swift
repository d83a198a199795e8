import JSONRPC

/// The whole surface of the service, in the order of `protocol/openrpc.json`.
public let allMethods = MethodTable<Session>([
    Initialize.self,
    Shutdown.self,
    Exit.self,
    Discover.self,
    Ping.self,
    ServiceStatus.self,
    SetToken.self,
    MakeReference.self,
    GetSettings.self,
    UpdateSettings.self,
    Child.self,
    Parent.self,
    Root.self,
    PutData.self,
    PutFile.self,
    GetMetadata.self,
    UpdateMetadata.self,
    PauseUpload.self,
    ResumeUpload.self,
    CancelUpload.self,
    SnapshotUpload.self,
    WaitForUpload.self,
    ListUploads.self,
    ObserveUpload.self,
    RemoveObserver.self,
    RemoveAllObservers.self,
])

/// What the service tells without being asked.
let allNotifications = ["uploadTask/event"]

/// What the service asks its clients.
let allRequests = [ConnectionTokens.refreshToken]

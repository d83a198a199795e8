import JSONRPC
import Storage

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
    Pause<UploadCourse>.self,
    Resume<UploadCourse>.self,
    Cancel<UploadCourse>.self,
    TakeSnapshot<UploadCourse>.self,
    WaitForEnd<UploadCourse>.self,
    ListTasks<UploadCourse>.self,
    Observe<UploadCourse>.self,
    RemoveObserver<UploadCourse>.self,
    RemoveAllObservers<UploadCourse>.self,
])

/// What the service tells without being asked.
let allNotifications = [TaskEvent.name(for: .upload)]

/// What the service asks its clients.
let allRequests = [ConnectionTokens.refreshToken]

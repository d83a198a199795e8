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
    StopService.self,
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
    DownloadURL.self,
    RevokeDownloadURL.self,
    Delete.self,
    List.self,
    ListAll.self,
    GetData.self,
    WriteToFile.self,
    Pause<UploadCourse>.self,
    Resume<UploadCourse>.self,
    Cancel<UploadCourse>.self,
    TakeSnapshot<UploadCourse>.self,
    WaitForEnd<UploadCourse>.self,
    ListTasks<UploadCourse>.self,
    Forget<UploadCourse>.self,
    Observe<UploadCourse>.self,
    RemoveObserver<UploadCourse>.self,
    RemoveAllObservers<UploadCourse>.self,
    Pause<DownloadCourse>.self,
    Resume<DownloadCourse>.self,
    Cancel<DownloadCourse>.self,
    TakeSnapshot<DownloadCourse>.self,
    WaitForEnd<DownloadCourse>.self,
    ListTasks<DownloadCourse>.self,
    Forget<DownloadCourse>.self,
    Observe<DownloadCourse>.self,
    RemoveObserver<DownloadCourse>.self,
    RemoveAllObservers<DownloadCourse>.self,
])

/// What the service tells without being asked.
let allNotifications = [TaskEvent.name(for: .upload), TaskEvent.name(for: .download)]

/// What the service asks its clients.
let allRequests = [ConnectionTokens.refreshToken]

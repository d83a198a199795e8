import JSONRPC
import Storage
import Transfers

/// All methods, in the order of `protocol/openrpc.json`.
package let allMethods = MethodTable(methods.map { ofConnections($0) })

/// The methods of `serve --harness`, in the order of `protocol/harness.json`.
package let allMethodsAndHarness = MethodTable((methods + harnessMethods).map { ofConnections($0) })

let harnessMethods: [any ServiceMethod.Type] = [
    Arm.self,
    Disarm.self,
    ReleaseHold.self,
    MoveClock.self,
    Settled.self,
    ReadJournal.self,
    Authorize.self,
    EnterSpace.self,
    StoreSeed.self,
    SaveSpace.self,
    ResetSpace.self,
]

private let methods: [any ServiceMethod.Type] = [
    Initialize.self,
    Shutdown.self,
    Exit.self,
    Discover.self,
    Ping.self,
    ServiceStatus.self,
    ServiceMetrics.self,
    StopService.self,
    SetToken.self,
    MakeReference.self,
    GetSettings.self,
    UpdateSettings.self,
    ListBuckets.self,
    ObserveObjects.self,
    RemoveObjectObserver.self,
    Child.self,
    Parent.self,
    Root.self,
    PutData.self,
    PutFile.self,
    PutStream.self,
    CopyObject.self,
    MoveObject.self,
    Exists.self,
    GetMetadata.self,
    UpdateMetadata.self,
    DownloadURL.self,
    RevokeDownloadURL.self,
    Delete.self,
    List.self,
    ListAll.self,
    GetData.self,
    WriteToFile.self,
    PutDirectory.self,
    WriteToDirectory.self,
    DeleteAll.self, CopyAll.self,
    GetStream.self,
    Pause<UploadTask>.self,
    Resume<UploadTask>.self,
    RetryTask<UploadTask>.self,
    Cancel<UploadTask>.self,
    TakeSnapshot<UploadTask>.self,
    WaitForEnd<UploadTask>.self,
    ListTasks<UploadTask>.self,
    Forget<UploadTask>.self,
    Observe<UploadTask>.self,
    RemoveObserver<UploadTask>.self,
    RemoveAllObservers<UploadTask>.self,
    Append.self,
    Finish.self,
    Pause<DownloadTask>.self,
    Resume<DownloadTask>.self,
    RetryTask<DownloadTask>.self,
    Cancel<DownloadTask>.self,
    TakeSnapshot<DownloadTask>.self,
    WaitForEnd<DownloadTask>.self,
    ListTasks<DownloadTask>.self,
    Forget<DownloadTask>.self,
    Observe<DownloadTask>.self,
    RemoveObserver<DownloadTask>.self,
    RemoveAllObservers<DownloadTask>.self,
    ReadPiece.self,
    Pause<FolderTask>.self,
    Resume<FolderTask>.self,
    Cancel<FolderTask>.self,
    RetryTask<FolderTask>.self,
    TakeSnapshot<FolderTask>.self,
    WaitForEnd<FolderTask>.self,
    ListTasks<FolderTask>.self,
    ListFolderItems.self,
    Forget<FolderTask>.self,
    Observe<FolderTask>.self,
    RemoveObserver<FolderTask>.self,
    RemoveAllObservers<FolderTask>.self,
]

/// The method as one of the table, whose methods have one context.
private func ofConnections<Method: ServiceMethod>(_ method: Method.Type) -> any RPCMethod<ConnectionContext>.Type {
    method
}

/// The notifications of the service.
let allNotifications = [
    TaskKind.upload.event, TaskKind.download.event, FolderSnapshot.event, ObjectChange.event, RequestRetry.event,
]

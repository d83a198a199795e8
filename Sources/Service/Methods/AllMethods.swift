import JSONRPC
import Storage
import Transfers

/// All methods, in the order of `protocol/openrpc.json`.
package let allMethods = MethodTable(methods)

/// The methods of `serve --harness`, in the order of `protocol/harness.json`.
package let allMethodsAndHarness = MethodTable(methods + harnessMethods)

let harnessMethods: [any RPCMethod<ConnectionContext>.Type] = [
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

private let methods: [any RPCMethod<ConnectionContext>.Type] = [
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
    DeleteAll.self,
    Pause<UploadTask>.self,
    Resume<UploadTask>.self,
    Cancel<UploadTask>.self,
    TakeSnapshot<UploadTask>.self,
    WaitForEnd<UploadTask>.self,
    ListTasks<UploadStrategy>.self,
    Forget<UploadTask>.self,
    Observe<UploadTask>.self,
    RemoveObserver<UploadTask>.self,
    RemoveAllObservers<UploadTask>.self,
    Pause<DownloadTask>.self,
    Resume<DownloadTask>.self,
    Cancel<DownloadTask>.self,
    TakeSnapshot<DownloadTask>.self,
    WaitForEnd<DownloadTask>.self,
    ListTasks<DownloadStrategy>.self,
    Forget<DownloadTask>.self,
    Observe<DownloadTask>.self,
    RemoveObserver<DownloadTask>.self,
    RemoveAllObservers<DownloadTask>.self,
    Pause<FolderTask>.self,
    Resume<FolderTask>.self,
    Cancel<FolderTask>.self,
    RetryFolder.self,
    TakeSnapshot<FolderTask>.self,
    WaitForEnd<FolderTask>.self,
    ListFolderTasks.self,
    ListFolderItems.self,
    Forget<FolderTask>.self,
    Observe<FolderTask>.self,
    RemoveObserver<FolderTask>.self,
    RemoveAllObservers<FolderTask>.self,
]

/// The notifications of the service.
let allNotifications = [
    TaskKind.upload.event, TaskKind.download.event, FolderSnapshot.event, ObjectChange.event,
]

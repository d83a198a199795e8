import JSONRPC
import Storage

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
    GetStream.self,
    Pause<UploadStrategy>.self,
    Resume<UploadStrategy>.self,
    Cancel<UploadStrategy>.self,
    TakeSnapshot<UploadStrategy>.self,
    WaitForEnd<UploadStrategy>.self,
    ListTasks<UploadStrategy>.self,
    Forget<UploadStrategy>.self,
    Observe<UploadStrategy>.self,
    RemoveObserver<UploadStrategy>.self,
    RemoveAllObservers<UploadStrategy>.self,
    Append.self,
    Finish.self,
    Pause<DownloadStrategy>.self,
    Resume<DownloadStrategy>.self,
    Cancel<DownloadStrategy>.self,
    TakeSnapshot<DownloadStrategy>.self,
    WaitForEnd<DownloadStrategy>.self,
    ListTasks<DownloadStrategy>.self,
    Forget<DownloadStrategy>.self,
    Observe<DownloadStrategy>.self,
    RemoveObserver<DownloadStrategy>.self,
    RemoveAllObservers<DownloadStrategy>.self,
    ReadPiece.self,
]

/// The notifications of the service.
let allNotifications = [TaskKind.upload.event, TaskKind.download.event, ObjectChange.event]

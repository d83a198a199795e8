// The names of Firebase's SDK, as in code that was written for it. `import StorageRPC` has all others, which would clash
// with names of apps.
@_exported import class StorageRPC.Storage
@_exported import class StorageRPC.StorageDownloadTask
@_exported import enum StorageRPC.StorageError
@_exported import enum StorageRPC.StorageErrorCode
@_exported import let StorageRPC.StorageErrorDomain
@_exported import class StorageRPC.StorageListResult
@_exported import class StorageRPC.StorageMetadata
@_exported import class StorageRPC.StorageObservableTask
@_exported import class StorageRPC.StorageReference
@_exported import class StorageRPC.StorageTask
@_exported import protocol StorageRPC.StorageTaskManagement
@_exported import class StorageRPC.StorageTaskSnapshot
@_exported import enum StorageRPC.StorageTaskStatus
@_exported import class StorageRPC.StorageUploadTask

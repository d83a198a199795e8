/** Cloud Storage for Firebase, through `storage-rpc`; index.d.ts documents each name. */
export { ServiceGoneError, StorageError } from "./src/errors.js";
export { Reference } from "./src/reference.js";
export { Storage } from "./src/storage.js";
export { DownloadTask, FolderTask, UploadTask } from "./src/task.js";

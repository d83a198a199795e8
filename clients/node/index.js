"use strict";
/** Cloud Storage for Firebase, through `storage-rpc`; index.d.ts documents each name. For `require` and for `import`. */
const { ServiceGoneError, StorageError } = require("./src/errors.js");
const { ProgressBar } = require("./src/progress.js");
const { Reference } = require("./src/reference.js");
const { Storage } = require("./src/storage.js");
const { DownloadTask, FolderTask, UploadTask } = require("./src/task.js");

module.exports = { DownloadTask, FolderTask, ProgressBar, Reference, ServiceGoneError, Storage, StorageError, UploadTask };

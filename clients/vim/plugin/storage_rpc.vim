if !has('vim9script') || !has('channel')
  finish
endif
vim9script noclear
# The commands: `:help storage_rpc`.

if exists('g:loaded_storage_rpc')
  finish
endif
g:loaded_storage_rpc = true

import autoload 'storage_rpc.vim'

command -nargs=? StoragePut storage_rpc.PutBuffer(<q-args>)
command -nargs=1 -bang StorageGet storage_rpc.GetHere(<q-args>, <bang>false)
command -nargs=+ -complete=dir StoragePutDirectory storage_rpc.PutDirectoryHere([<f-args>])
command -nargs=+ -bang StorageGetDirectory storage_rpc.GetDirectoryHere([<f-args>], <bang>false)
command -nargs=? StorageGetMetadata storage_rpc.ShowMetadata(<q-args>)
command -nargs=? -bang StorageObserve storage_rpc.ObserveHere(<q-args>, <bang>false)
command -nargs=0 StoragePause storage_rpc.Control('pause')
command -nargs=0 StorageResume storage_rpc.Control('resume')
command -nargs=0 StorageRetry storage_rpc.Control('retry')
command -nargs=0 StorageCancel storage_rpc.Control('cancel')

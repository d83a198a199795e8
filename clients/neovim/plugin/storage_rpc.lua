if vim.g.loaded_storage_rpc then
  return
end
vim.g.loaded_storage_rpc = true

local function command(name, run, options)
  vim.api.nvim_create_user_command(name, function(arguments)
    run(require('storage_rpc'), arguments.args ~= '' and arguments.args or nil, arguments)
  end, options)
end

command('StoragePut', function(storage, reference)
  storage.put_buffer(reference)
end, { nargs = '?', desc = 'Upload the file of this buffer to a reference' })

command('StorageGet', function(storage, reference, arguments)
  local file = reference:match('[^/]*$')
  if vim.fn.filereadable(file) == 1 and not arguments.bang then
    return vim.notify(('storage-rpc: %s is there; :StorageGet! replaces it'):format(file), vim.log.levels.ERROR)
  end
  storage.get_file(reference, file)
end, { nargs = 1, bang = true, desc = 'Download a reference to a file of its name in this directory' })

command('StorageGetMetadata', function(storage, reference)
  storage.show_metadata(reference)
end, { nargs = '?', desc = 'Show what is stored at a reference' })

local controls = { pause = 'StoragePause', resume = 'StorageResume', retry = 'StorageRetry', cancel = 'StorageCancel' }
for verb, name in pairs(controls) do
  command(name, function(storage)
    storage[verb]()
  end, { nargs = 0, desc = ('The newest upload or download: %s it'):format(verb) })
end

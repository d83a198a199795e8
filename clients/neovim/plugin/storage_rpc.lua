if vim.g.loaded_storage_rpc then
  return
end
vim.g.loaded_storage_rpc = true

local function command(name, run, options)
  vim.api.nvim_create_user_command(name, function(arguments)
    run(require('storage_rpc'), arguments.args ~= '' and arguments.args or nil)
  end, options)
end

command('StoragePut', function(storage, reference)
  storage.put_buffer(reference)
end, { nargs = '?', desc = 'Upload the file of this buffer to a reference' })

command('StorageGetMetadata', function(storage, reference)
  storage.show_metadata(reference)
end, { nargs = '?', desc = 'Show what is stored at a reference' })

command('StorageCancel', function(storage)
  storage.cancel()
end, { nargs = 0, desc = 'Cancel the newest upload' })

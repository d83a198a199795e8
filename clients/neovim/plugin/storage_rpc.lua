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
    return vim.notify(('storage-rpc: %s exists; :StorageGet! replaces it'):format(file), vim.log.levels.ERROR)
  end
  storage.get_file(reference, file)
end, { nargs = 1, bang = true, desc = 'Download a reference to a file of its name in this directory' })

--- The two words of a command, of which the second may be nil; nothing if there are more.
local function two_words(arguments)
  if #arguments.fargs <= 2 then
    return unpack(arguments.fargs)
  end
  vim.notify('storage-rpc: these are more than two names; a space in a name is written as "\\ "', vim.log.levels.ERROR)
end

command('StoragePutDirectory', function(storage, _, arguments)
  local directory, reference = two_words(arguments)
  if not directory then
    return
  end
  storage.put_directory(directory, reference or vim.fn.fnamemodify(directory, ':p:h:t'))
end, { nargs = '+', complete = 'dir', desc = 'Upload a directory below a reference, by default of its name' })

command('StorageGetDirectory', function(storage, _, arguments)
  local reference, directory = two_words(arguments)
  if not reference then
    return
  end
  directory = directory or reference:match('([^/]*)/*$')
  if vim.fn.isdirectory(directory) == 1 and not arguments.bang then
    local text = 'storage-rpc: %s exists; :StorageGetDirectory! replaces files in it'
    return vim.notify(text:format(directory), vim.log.levels.ERROR)
  end
  storage.get_directory(reference, directory)
end, { nargs = '+', bang = true, desc = 'Download what is below a reference to a directory, by default of its name' })

command('StorageObserve', function(storage, reference, arguments)
  if arguments.bang then
    return storage.unobserve()
  end
  storage.observe(reference or '')
end, { nargs = '?', bang = true, desc = 'Say what happens to the objects below a reference; with ! no more' })

command('StorageGetMetadata', function(storage, reference)
  storage.show_metadata(reference)
end, { nargs = '?', desc = 'Show what is stored at a reference' })

local controls = { pause = 'StoragePause', resume = 'StorageResume', retry = 'StorageRetry', cancel = 'StorageCancel' }
for verb, name in pairs(controls) do
  command(name, function(storage)
    storage[verb]()
  end, { nargs = 0, desc = ('The newest upload or download: %s it'):format(verb) })
end

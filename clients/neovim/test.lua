-- The Neovim client against the real service:
-- STORAGE_RPC_PROGRAM=… nvim --clean --headless -S clients/neovim/test.lua -c cquit

local program = assert(os.getenv('STORAGE_RPC_PROGRAM'), 'STORAGE_RPC_PROGRAM names no program')
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
vim.opt.runtimepath:prepend(here)
vim.opt.swapfile = false
vim.cmd('runtime plugin/storage_rpc.lua')

local storage = require('storage_rpc')
local directory = vim.fn.tempname()
local command = { program, '--root', directory .. '/root' }
local heard = {}
vim.fn.mkdir(directory, 'p')
vim.notify = function(text, level)
  table.insert(heard, { text = text, level = level, status = storage.status() })
end

local function print_line(text)
  io.stdout:write(text, '\n')
end

local function await(condition, what)
  assert(vim.wait(60000, condition, 5), 'It has not come: ' .. (what or 'what was waited for'))
end

local function said(pattern)
  for _, message in ipairs(heard) do
    if message.text:find(pattern) then
      return message
    end
  end
end

local function file(name, size)
  local path = directory .. '/' .. name
  if name:find('/') then
    vim.fn.mkdir(vim.fn.fnamemodify(path, ':h'), 'p')
  end
  local stream = assert(io.open(path, 'wb'))
  if size > 0 then -- a hole: no bytes on the disk
    stream:seek('set', size - 1)
    stream:write('\0')
  end
  stream:close()
  return path
end

local function edit(path)
  vim.cmd('silent! %bwipeout!')
  vim.api.nvim_buf_set_name(0, path)
  vim.bo.modified = false
end

local function is_running()
  local found = vim.fn.system({ 'grep', '-lzsxF', '--', directory .. '/root', unpack(vim.fn.glob('/proc/[0-9]*/cmdline', true, true)) })
  for path in found:gmatch('[^\n]+') do
    local process = assert(path:match('%d+'))
    local status = io.open('/proc/' .. process .. '/cmdline')
    local words = status and status:read('*a') or ''
    if status then
      status:close()
    end
    if words:sub(1, #program) == program then
      return true
    end
  end
  return false
end

local function put(path, reference)
  local last
  storage.put_file(path, reference, function(snapshot)
    last = snapshot
  end)
  await(function() return last end, 'the end of an upload')
  return last
end

local function call(method, params)
  local done, failed, answer
  storage.call(method, params, function(failure, result)
    done, failed, answer = true, failure, result
  end)
  await(function() return done end, method)
  return assert(not failed and (answer or true), failed and failed.message)
end

--- Every upload stops before its second MiB, until `release`, in a service that has a harness.
local function hold()
  call('harness/arm', { on = 'send', at = 1048576, times = vim.NIL, ['do'] = { hold = true } })
end

local function release()
  call('harness/disarm')
end

--- The same in a service of its own.
local function hold_uploads()
  storage.setup({ command = { program, 'serve', '--harness', '--root', directory .. '/root' } })
  hold()
end

--- Another Neovim, which uploads a file and ends.
local function run_other(setup)
  local script = directory .. '/other.lua'
  vim.fn.writefile({
    ('vim.opt.runtimepath:prepend(%q)'):format(here),
    'local storage = require("storage_rpc"); ' .. setup,
    ('local last; storage.put_file(%q, "other", function(snapshot) last = snapshot end)'):format(file('other', 3)),
    'if not vim.wait(60000, function() return last end, 5) or last.error then vim.cmd("cquit") end',
    'vim.cmd("quitall!")',
  }, script)
  vim.fn.system({ vim.v.progpath, '--clean', '--headless', '-S', script })
  assert(vim.v.shell_error == 0)
end

--- A service with these flags, which listens; it ends with Neovim, however that ends.
local function serve(flags)
  local answer = ''
  local job = vim.fn.jobstart(vim.list_extend({ program, 'serve', '--stdio' }, flags), {
    on_stdout = function(_, lines) answer = answer .. table.concat(lines) end,
  })
  -- Its answer on stdout tells that it listens: the socket is opened before stdin is read.
  vim.fn.chansend(job, '{"jsonrpc":"2.0","id":1,"method":"service/ping"}\n')
  await(function() return answer:find('pong') end, 'the answer on stdout')
  return job
end

local function serve_socket()
  return serve({ '--root', directory .. '/root', '--socket', directory .. '/socket' })
end

--- The service of the root that all clients share, with a harness.
local function serve_shared()
  vim.env.XDG_DATA_HOME, vim.env.STORAGE_RPC = directory, program
  return serve({ '--root', directory .. '/storage-rpc', '--shared', '--harness' })
end

local function leave(job)
  vim.fn.jobstop(job)
  vim.fn.jobwait({ job })
end

local tests = {
  { 'the file of a buffer is uploaded, with progress', function()
    edit(file('large.mov', 5000000))
    vim.cmd('StoragePut videos/large.mov')
    await(function() return said('stored .* as gs://default%-bucket/videos/large.mov$') end, 'the last message')
    assert(storage.status() == '', storage.status())
    local progress = assert(said('large.mov: %d+ %%$'), 'there was no progress')
    assert(progress.status:find('^↑%d+%%$'), progress.status)
    assert(said('large.mov: 100 %%$'), 'there was no last progress')
  end },
  { 'the reference is the name of the file where none is given', function()
    edit(file('plain.txt', 3))
    vim.cmd('StoragePut')
    await(function() return said('as gs://default%-bucket/plain.txt$') end)
  end },
  { 'many small uploads all end', function()
    local path, ended = file('empty', 0), 0
    for index = 1, 20 do
      storage.put_file(path, 'small/' .. index, function() ended = ended + 1 end)
    end
    await(function() return ended == 20 end)
  end },
  { 'a missing file fails with code and name', function()
    edit(directory .. '/missing')
    vim.cmd('StoragePut missing')
    await(function() return said('failed: unknown %(%-13000%): .*missing') end)
    assert(said('failed').level == vim.log.levels.ERROR)
  end },
  { 'what is no reference fails', function()
    edit(file('plain.txt', 3))
    vim.cmd('StoragePut gs://')
    await(function() return said('pathError %(%-13053%)') end)
  end },
  { 'what is not written is not uploaded', function()
    edit(file('plain.txt', 3))
    vim.bo.modified = true
    vim.cmd('StoragePut')
    assert(said('not written'))
  end },
  { 'an upload is cancelled', function()
    hold_uploads()
    edit(file('huge', 5000000))
    vim.cmd('StoragePut huge')
    await(function() return said('huge: %d+ %%') end, 'progress')
    vim.cmd('StorageCancel')
    await(function() return said('cancelled %(%-13040%)') end, 'the end')
    heard = {}
    vim.cmd('StorageCancel')
    await(function() return said('there is nothing to cancel') end)
  end },
  { 'an upload is cancelled that has hardly begun', function()
    hold_uploads()
    edit(file('huge', 5000000))
    vim.cmd('StoragePut huge')
    vim.cmd('StorageCancel')
    await(function() return said('cancelled %(%-13040%)') end)
  end },
  { 'odd names', function()
    local name = 'a  "b"\n\'c\' \\d $e %20 #?é😀*~.txt'
    assert(put(file(name, 3), 'o d"d/é%41').metadata.size == 3)
    assert(put(file('plain.txt', 3), 'o d"d/é%41').metadata.fullPath == 'o d"d/é%41')
    edit(directory .. '/' .. name:gsub('\n', ' '))
    file(name:gsub('\n', ' '), 4)
    vim.cmd('StoragePut a b "c" |x%')
    await(function() return said('as gs://default%-bucket/a b "c" |x%%$') end)
  end },
  { 'names that are no UTF-8 fail', function()
    assert(put(file('\255', 3), 'a').error)
    assert(put(file('plain.txt', 3), '\255').error)
  end },
  { 'metadata is shown', function()
    assert(put(file('plain.txt', 3), 'a/b.txt').metadata)
    vim.cmd('StorageGetMetadata gs://default-bucket/a/b.txt')
    local function shown()
      for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
        local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
        if text:find('contentType = "text/plain', 1, true) then
          return true
        end
      end
    end
    await(shown)
    vim.cmd('StorageGetMetadata none')
    await(function() return said('objectNotFound %(%-13010%)') end)
  end },
  { 'tokens come from a function', function()
    local asked = {}
    storage.setup({ command = command, token = function(kind, reason)
      table.insert(asked, { kind or 'any', reason })
      return { token = 'secret', expiresIn = 3600 }
    end })
    assert(put(file('plain.txt', 3), 'a').metadata)
    assert(vim.deep_equal(asked, { { 'any', 'start' } }))
    assert(not said('error'))
  end },
  { 'a service that ends fails its uploads, and is started anew', function()
    hold_uploads()
    local last
    storage.put_file(file('huge', 5000000), 'huge', function(snapshot) last = snapshot end)
    await(function() return said('huge: %d+ %%') end, 'progress')
    vim.loop.kill(call('service/status').pid, 'sigkill')
    await(function() return last end, 'the end')
    assert(last.error.message:find('The service has ended'))
    assert(put(file('plain.txt', 3), 'a').metadata)
  end },
  { 'what has not ended is cancelled at the end', function()
    local upload = storage.put_file(file('huge', 8589934592), 'huge')
    await(function() return upload.task end, 'the task')
    storage.stop()
    local state
    storage.call('uploadTask/snapshot', { task = upload.task }, function(failure, snapshot)
      state = failure and failure.message or snapshot.state
    end)
    await(function() return state end, 'the answer')
    assert(state == 'cancelled', state)
  end },
  { 'a program that is not there is an error', function()
    local ok, why = pcall(storage.setup, { comand = {} })
    assert(not ok and why:find('setup has no option comand', 1, true), why)
    storage.setup({ command = { '/no/such/program' } })
    assert(put(file('plain.txt', 3), 'a').error)
    assert(said('there is no program /no/such/program'))
    storage.setup({ command = { 'false' } })
    assert(put(file('plain.txt', 3), 'a').error)
  end },
  { 'an upload is paused and resumed', function()
    hold_uploads()
    edit(file('large', 5000000))
    vim.cmd('StoragePut')
    await(function() return said('large: %d+ %%$') end, 'progress')
    vim.cmd('StorageRetry')
    await(function() return said('large is running') end, 'the answer')
    vim.cmd('StoragePause')
    await(function() return said('large: paused at %d+ %%') end, 'the pause')
    heard = {}
    vim.cmd('StoragePause')
    await(function() return said('there is nothing to pause') end)
    release()
    vim.cmd('StorageResume')
    await(function() return said('stored large as') end, 'the end')
  end },
  { 'what is said before an upload has begun is done in order', function()
    local last
    local upload = storage.put_file(file('large', 5000000), 'large', function(snapshot) last = snapshot end)
    storage.pause(upload)
    storage.resume(upload)
    await(function() return last end, 'the end')
    assert(last.state == 'success' and said('large: paused'))
  end },
  { 'a file is downloaded', function()
    assert(put(file('plain.txt', 5), 'a/copy.txt').metadata)
    vim.cmd('cd ' .. directory)
    vim.cmd('StorageGet a/copy.txt')
    await(function() return said('downloaded copy.txt from gs://default%-bucket/a/copy.txt') end)
    assert(vim.fn.getfsize(directory .. '/copy.txt') == 5)
    vim.cmd('StorageGet a/copy.txt')
    assert(said('exists; :StorageGet! replaces it'))
    vim.cmd('StorageGet none')
    await(function() return said('download of none failed: objectNotFound %(%-13010%)') end)
  end },
  { 'a directory is uploaded and downloaded', function()
    file('tree/deep/small', 5)
    file('tree/large', 5000000)
    vim.cmd('cd ' .. directory)
    vim.cmd('StoragePutDirectory tree/ photos')
    await(function() return said('2 files stored below gs://default%-bucket/photos, 0 unchanged, 0 refused') end, 'the end')
    assert(said('tree: %d+ %%$'), 'there was no progress')
    vim.cmd('StorageGetDirectory photos')
    await(function() return said('2 files downloaded from gs://default%-bucket/photos') end, 'the copy')
    assert(vim.fn.getfsize(directory .. '/photos/deep/small') == 5)
    vim.cmd('StoragePutDirectory tree my photos')
    assert(said('more than two names'))
    vim.cmd('StorageGetDirectory photos')
    assert(said('exists; :StorageGetDirectory! replaces files in it'))
    local last
    storage.get_directory('photos', directory .. '/part', function(snapshot) last = snapshot end, { exclude = { 'large' } })
    await(function() return last end, 'the part')
    assert(last.files.completed == 1 and vim.fn.filereadable(directory .. '/part/large') == 0)
  end },
  { 'what a directory has refused is in the quickfix list', function()
    file('links/plain.txt', 5)
    assert(vim.loop.fs_symlink('plain.txt', directory .. '/links/link'))
    storage.put_directory(directory .. '/links', 'links')
    await(function() return said('1 files of links failed or were refused: see :copen') end, 'the report')
    local item = vim.fn.getqflist()[1]
    assert(vim.fn.bufname(item.bufnr):find('links/link$') and item.text:find('%(%-13%d+%)'), vim.inspect(item))
    storage.put_directory(directory .. '/none', 'none')
    await(function() return said('folder of none failed') end)
  end },
  { 'a directory is cancelled', function()
    hold_uploads()
    file('films/large', 5000000)
    file('films/z', 5000000)
    vim.cmd('StoragePutDirectory ' .. directory .. '/films')
    await(function() return said('films: %d+ %%$') or #storage.running() > 0 and storage.running()[1].task end, 'progress')
    vim.cmd('StorageCancel')
    await(function() return said('folder of films failed: cancelled %(%-13040%)') end, 'the end')
  end },
  { 'changes are heard', function()
    local heard_of = {}
    local stop = storage.observe('uploads', function(change) table.insert(heard_of, change or 'the end') end)
    put(file('plain.txt', 3), 'other')
    put(file('plain.txt', 3), 'uploads/a')
    await(function() return #heard_of > 0 end, 'a change')
    assert(heard_of[1].change == 'created' and heard_of[1].reference.url == 'gs://default-bucket/uploads/a')
    stop()
    put(file('plain.txt', 3), 'uploads/b')
    assert(#heard_of == 1)
    storage.observe('uploads', function(change) table.insert(heard_of, change or 'the end') end)
    call('service/ping')
    storage.stop()
    assert(heard_of[2] == 'the end')
  end },
  { 'changes are said', function()
    vim.cmd('StorageObserve')
    await(function() return said('gs://default%-bucket/ is observed') end)
    put(file('plain.txt', 3), 'said/a')
    await(function() return said('created gs://default%-bucket/said/a$') end)
    vim.cmd('StorageObserve!')
    put(file('plain.txt', 3), 'said/b')
    assert(not said('created gs://default%-bucket/said/b$'))
  end },
  { 'a request that is cancelled fails', function()
    hold_uploads()
    local upload = storage.put_file(file('huge', 5000000), 'huge')
    await(function() return upload.task end, 'the task')
    local failure
    local cancel = storage.call('uploadTask/wait', { task = upload.task }, function(why) failure = why end)
    cancel()
    await(function() return failure end, 'the answer')
    assert(failure.code == -32800, failure.message)
  end },
  { 'a root in use is said', function()
    local job = serve_socket()
    storage.setup({ command = vim.list_extend(vim.list_slice(command), { '--max-tasks', '9' }) })
    assert(put(file('plain.txt', 3), 'a').error)
    assert(said(('is in use by process %d.*storage%%-rpc connect'):format(vim.fn.jobpid(job))))
    leave(job)
  end },
  { 'a socket is connected to', function()
    local job = serve_socket()
    storage.setup({ socket = directory .. '/socket' })
    assert(put(file('plain.txt', 3), 'by/socket').metadata)
    storage.stop()
    assert(vim.fn.jobwait({ job }, 0)[1] == -1)
    leave(job)
    storage.setup({ socket = '/no/such/socket' })
    assert(put(file('plain.txt', 3), 'a').error)
    assert(said('No service can be reached at /no/such/socket: ENOENT'))
  end },
  { 'the first command starts the service that editors share', function()
    vim.env.XDG_DATA_HOME, vim.env.STORAGE_RPC = directory, program
    storage.setup({})
    local service = call('service/status').pid
    run_other('storage.setup({})')
    assert(call('reference/getMetadata', { reference = 'gs://default-bucket/other' }).size == 3)
    call('service/stop')
    await(function() return vim.fn.isdirectory('/proc/' .. service) == 0 end, 'its end')
  end },
  { 'editors share a root, and transfers go on without them', function()
    local job = serve_shared()
    storage.setup({})
    hold()
    local upload = storage.put_file(file('huge', 5000000), 'huge')
    await(function() return upload.task end, 'the task')
    run_other('storage.setup({})')
    storage.stop()
    await(function() return call('uploadTask/snapshot', { task = upload.task }).state == 'running' end)
    vim.cmd('StoragePause')
    await(function() return said('huge: paused') end, 'the pause')
    vim.cmd('StorageCancel')
    await(function() return said('huge: cancelled') end, 'the end')
    assert(call('reference/getMetadata', { reference = 'gs://default-bucket/other' }).size == 3)
    storage.stop()
    leave(job)
  end },
  { 'what an earlier session has left is followed when it is resumed', function()
    local job = serve_shared()
    storage.setup({})
    hold()
    local upload = storage.put_file(file('large', 5000000), 'large')
    await(function() return upload.task end, 'the task')
    vim.cmd('StoragePause')
    await(function() return said('large: paused') end, 'the pause')
    storage.stop()
    assert(storage.status() == '')
    heard = {}
    vim.cmd('StorageResume')
    await(function() return storage.status():find('^↑%d+%%') end, 'the status')
    release()
    await(function() return said('stored large as gs://default%-bucket/large') end, 'the end')
    assert(said('large: resumed') and said('large: 100 %%'))
    storage.stop()
    leave(job)
  end },
  { 'the help has each command', function()
    vim.cmd('helptags ' .. here .. '/doc')
    for name in pairs(vim.api.nvim_get_commands({})) do
      if name:find('^Storage') then
        vim.cmd('help :' .. name)
        assert(vim.fn.expand('%:t') == 'storage_rpc.txt')
        vim.cmd('helpclose')
      end
    end
    vim.fn.delete(here .. '/doc/tags')
  end },
  { 'Neovim takes the service along', function()
    run_other(('storage.setup({ command = { %q, "--root", %q } })'):format(program, command[3]))
  end },
}

local failures = 0
for _, test in ipairs(tests) do
  heard = {}
  storage.setup({ command = command })
  local ok, why = xpcall(test[2], debug.traceback)
  storage.stop()
  if ok and not vim.wait(60000, function() return not is_running() end, 50) then
    ok, why = false, 'A process is left behind.'
  end
  print_line((ok and 'ok: ' or 'FAILED: ') .. test[1])
  if not ok then
    failures = failures + 1
    print_line(why .. '\n' .. vim.inspect(heard))
  end
end
vim.fn.delete(directory, 'rf')
vim.cmd(failures == 0 and 'quitall!' or 'cquit')

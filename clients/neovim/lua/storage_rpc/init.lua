--- Cloud Storage for Firebase, through storage-rpc. The first command connects to the service that all clients of the
--- root share, and starts it if there is none. Transfers continue when Neovim ends.

local service = require('storage_rpc.service')
local say, sentence, complain = service.say, service.sentence, service.complain

local M = { call = service.call }

local transfers = {} -- what was begun here and has not ended, the newest last
local observers = {} -- what is called with each change, by handle

--- `command`: program and flags; else `storage-rpc connect`, the service that all clients of the root share, where the
--- program is $STORAGE_RPC or on the PATH. A command without `connect` starts a private service, which ends with Neovim.
--- `socket`: the Unix socket of a running service, used instead of a command.
--- `token`: function(kind, reason) that returns a token, {token = …, expiresIn = seconds} or nil. Asked with nil and
--- 'start' first, for the kind that the engine takes; then with a kind, and 'expired' or 'refused'.
function M.setup(given)
  for name in pairs(given or {}) do
    if not vim.tbl_contains({ 'command', 'socket', 'token' }, name) then
      error(('storage_rpc: setup has no option %s; it has command, socket and token'):format(name), 2)
    end
  end
  service.options = given or {}
end

local function tail(file)
  return vim.fn.fnamemodify(file, ':t')
end

local function percent(snapshot)
  return math.floor(snapshot.progress.fractionCompleted * 100)
end

local function kind_of(transfer)
  return transfer.snapshot and transfer.snapshot.kind or transfer.kind
end

--- How far the transfers are, for 'statusline', such as `↑42% ↓7% paused`; empty if there are none.
function M.status()
  local words = {}
  for _, transfer in ipairs(transfers) do
    local snapshot = transfer.snapshot
    if snapshot then
      local mark = (kind_of(transfer) == 'download' or kind_of(transfer) == 'write') and '↓' or '↑'
      local state = snapshot.retry and ' waiting' or snapshot.state ~= 'running' and ' ' .. snapshot.state or ''
      table.insert(words, ('%s%d%%%s'):format(mark, percent(snapshot), state))
    end
  end
  return table.concat(words, ' ')
end

local function success(transfer, snapshot)
  local name, url, files = tail(transfer.file), snapshot.reference.url, snapshot.files
  if transfer.kind == 'upload' then
    return ('stored %s as %s'):format(name, url)
  elseif transfer.kind == 'download' then
    return ('downloaded %s from %s'):format(name, url)
  end
  local how = snapshot.kind == 'put' and 'stored below' or 'downloaded from'
  return ('%d files %s %s, %d unchanged, %d refused'):format(files.completed, how, url, files.unchanged, files.refused)
end

--- Puts the files of a folder that have failed or were refused into the quickfix list.
local function report(transfer, snapshot)
  if not snapshot.failures then
    return
  end
  local params = { task = transfer.task, states = { 'failed', 'refused' } }
  service.call('folderTask/items', params, function(_, page)
    local items = vim.tbl_map(function(item)
      return { filename = transfer.file .. '/' .. item.path, text = sentence(item.error), type = 'E' }
    end, page and page.items or snapshot.failures)
    vim.fn.setqflist({}, ' ', { title = 'storage-rpc: ' .. transfer.file, items = items })
    local more = page and page.pageToken and ' and more' or ''
    say(('%d%s files of %s failed or were refused: see :copen'):format(#items, more, tail(transfer.file)), vim.log.levels.WARN)
  end)
end

local function finish(transfer, snapshot)
  transfers = vim.tbl_filter(function(one) return one ~= transfer end, transfers)
  if snapshot.error then
    local name = tail(transfer.file) -- the whole path would make Neovim ask for ENTER
    say(('%s of %s failed: %s'):format(transfer.kind, name, sentence(snapshot.error)), vim.log.levels.ERROR)
  else
    say(success(transfer, snapshot))
  end
  report(transfer, snapshot)
  if transfer.on_end then
    transfer.on_end(snapshot)
  end
end

local function fail(transfer, failure)
  finish(transfer, { status = 'failure', error = failure, reference = transfer.reference })
end

local function show_progress(transfer, snapshot)
  local name, retry = tail(transfer.file), snapshot.retry
  if retry then
    say(('%s: %s Attempt %d of %s, next at %s.'):format(name, retry.error.message, retry.attempt, retry.of, retry.at))
  end
  local tenth = math.floor(snapshot.progress.fractionCompleted * 10)
  if tenth > transfer.tenth then
    transfer.tenth = tenth
    say(('%s: %d %%'):format(name, tenth * 10))
  end
end

function service.hear(method, params)
  if method == 'storage/changed' then
    local observer = observers[params.handle]
    return observer and observer(params)
  elseif not method:find('Task/event$') then
    return -- such as those of a harness
  end
  local snapshot = params.snapshot
  for _, transfer in ipairs(transfers) do
    if transfer.task == snapshot.task and method == transfer.kind .. 'Task/event' then
      transfer.snapshot = snapshot
      if snapshot.status == 'progress' then
        show_progress(transfer, snapshot)
      elseif snapshot.status == 'pause' then
        say(('%s: paused at %d %%'):format(tail(transfer.file), percent(snapshot)))
      else
        finish(transfer, snapshot)
      end
      return vim.cmd('redrawstatus!')
    end
  end
end

function service.lose(failure)
  local lost = observers
  observers = {}
  for _, observer in pairs(lost) do
    observer(nil)
  end
  for _, transfer in ipairs(vim.list_slice(transfers)) do
    if transfer.task then -- else its request fails
      fail(transfer, failure)
    end
  end
end

--- The active transfers of this Neovim, the newest last: tables with `kind`, `file`, and the newest `snapshot`.
function M.running()
  return vim.list_slice(transfers)
end

-- Control: by the service's names of what a transfer is to do

local fitting = {
  pause = { starting = true, queued = true, running = true },
  resume = { paused = true },
  retry = { running = true },
  cancel = { starting = true, queued = true, running = true, paused = true },
}
local done = { pause = 'paused', resume = 'resumed', retry = 'tries again', cancel = 'cancelled' }

local function state(transfer)
  return transfer.snapshot and transfer.snapshot.state or 'starting'
end

--- Follows a transfer that was begun elsewhere, such as in an earlier session.
local function adopt(transfer)
  transfer.is_other, transfer.tenth = false, math.floor(transfer.snapshot.progress.fractionCompleted * 10)
  table.insert(transfers, transfer)
  for _, status in ipairs({ 'progress', 'pause', 'success', 'failure' }) do
    service.call(transfer.kind .. 'Task/observe', { task = transfer.task, status = status }, function(failure)
      if failure and vim.tbl_contains(transfers, transfer) then
        finish(transfer, { status = 'failure', error = failure, reference = transfer.snapshot.reference })
      end
    end)
  end
end

local function control(transfer, verb)
  if not transfer.task then
    return table.insert(transfer.wanted, verb) -- as soon as it has begun
  end
  service.call(('%sTask/%s'):format(transfer.kind, verb), { task = transfer.task }, function(failure, answer)
    if failure then
      return complain(failure)
    end
    transfer.snapshot = answer.snapshot
    if not answer.accepted then
      say(('%s is %s'):format(tail(transfer.file), answer.snapshot.state), vim.log.levels.WARN)
    elseif transfer.is_other then -- of those that were begun here, events tell
      say(('%s: %s'):format(transfer.file, done[verb]))
      if verb == 'resume' or verb == 'retry' then
        adopt(transfer)
      end
    end
  end)
end

--- Calls back with the active transfers of the service that this Neovim did not start.
local function others(callback)
  local found, left = {}, 3
  for _, kind in ipairs({ 'upload', 'download', 'folder' }) do
    service.call(kind .. 'Task/list', nil, function(failure, answer)
      complain(failure)
      for _, snapshot in ipairs(answer and answer.tasks or {}) do
        table.insert(found, { kind = kind, task = snapshot.task, snapshot = snapshot, file = snapshot.reference.url, is_other = true })
      end
      left = left - 1
      if left == 0 then
        callback(found)
      end
    end)
  end
end

--- The newest matching transfer of this Neovim; else one of the service, which the user selects.
local function choose(verb, callback)
  local function fits(transfer)
    return fitting[verb][state(transfer)]
  end
  local own = vim.tbl_filter(fits, transfers)
  if #own > 0 then
    return callback(own[#own])
  end
  others(function(found)
    found = vim.tbl_filter(fits, found)
    if #found == 0 then
      return say(('there is nothing to %s'):format(verb), vim.log.levels.WARN)
    elseif #found == 1 then
      return callback(found[1])
    end
    local function describe(transfer)
      return ('%s of %s, %s at %d %%'):format(transfer.kind, transfer.file, state(transfer), percent(transfer.snapshot))
    end
    vim.ui.select(found, { prompt = verb .. ': ', format_item = describe }, function(transfer)
      if transfer then
        callback(transfer)
      end
    end)
  end)
end

for verb in pairs(fitting) do
  --- Pauses, resumes or cancels a transfer, by default the newest, or retries one that waits after a failure; a
  --- cancelled one ends with that error.
  M[verb] = function(transfer)
    if transfer then
      return control(transfer, verb)
    end
    choose(verb, function(chosen)
      control(chosen, verb)
    end)
  end
end

-- Transfers

local function begin(kind, method, file, reference, on_end, options)
  local path = vim.fn.fnamemodify(file, ':p'):gsub('(.)/+$', '%1')
  local transfer = { kind = kind, file = path, tenth = 0, wanted = {}, on_end = on_end }
  table.insert(transfers, transfer)
  M.reference(reference, function(failure, place)
    if failure then
      return fail(transfer, failure)
    end
    transfer.reference = place
    -- As a URL, a name may have any bytes.
    local observed = { 'progress', 'pause', 'success', 'failure' }
    local params = vim.tbl_extend('error', { reference = place, observe = observed }, options or {})
    params[kind == 'folder' and 'directory' or 'file'] = vim.uri_from_fname(transfer.file)
    M.call(method, params, function(refusal, snapshot)
      if refusal then
        return fail(transfer, refusal)
      end
      transfer.task, transfer.snapshot = snapshot.task, snapshot
      for _, verb in ipairs(transfer.wanted) do
        control(transfer, verb)
      end
    end)
  end)
  return transfer
end

--- Uploads a file to gs://BUCKET/PATH, or to a path in the default bucket; `on_end` gets the last snapshot.
function M.put_file(file, reference, on_end)
  return begin('upload', 'reference/putFile', file, reference, on_end)
end

--- Downloads gs://BUCKET/PATH, or a path in the default bucket, to a file; `on_end` gets the last snapshot.
function M.get_file(reference, file, on_end)
  return begin('download', 'reference/writeToFile', file, reference, on_end)
end

--- Uploads the files of a directory below a reference, as one task. `options` are those of reference/putDirectory, such
--- as { exclude = { '*.tmp' }, changed = true }. What has failed is in the quickfix list.
function M.put_directory(directory, reference, on_end, options)
  return begin('folder', 'reference/putDirectory', directory, reference, on_end, options)
end

--- Downloads what is below a reference to a directory; `options` are those of reference/writeToDirectory.
function M.get_directory(reference, directory, on_end, options)
  return begin('folder', 'reference/writeToDirectory', directory, reference, on_end, options)
end

-- Changes

local function say_change(url)
  return function(change)
    say(change and ('%s %s'):format(change.change, change.reference.url) or url .. ' is not observed any more')
  end
end

--- Calls back with each change of a reference and of the objects below it, and with nil when the service has ended; says
--- them without a callback. Returns a function that ends it.
function M.observe(reference, callback)
  local handle, is_over
  local function stop()
    is_over = true
    if handle and observers[handle] then
      observers[handle] = nil
      service.call('storage/removeObserver', { handle = handle }, complain)
    end
  end
  M.reference(reference, function(failure, place)
    if failure or is_over then
      return complain(failure)
    end
    M.call('storage/observe', { reference = place }, function(refusal, answer)
      if refusal then
        return complain(refusal)
      end
      handle = answer.handle
      observers[handle] = callback or say_change(place.url)
      if is_over then
        stop()
      elseif not callback then
        say(('%s is observed'):format(place.url))
      end
    end)
  end)
  return stop
end

--- Ends all that is observed.
function M.unobserve()
  for handle in pairs(observers) do
    observers[handle] = nil
    service.call('storage/removeObserver', { handle = handle }, complain)
  end
end

function M.reference(reference, callback)
  M.call('storage/reference', { [reference:find('://', 1, true) and 'url' or 'path'] = reference }, callback)
end

function M.put_buffer(reference)
  local file = vim.api.nvim_buf_get_name(0)
  if file == '' or vim.bo.buftype ~= '' or vim.bo.modified then
    return say('this buffer has no file, or has changes that are not written', vim.log.levels.ERROR)
  end
  return M.put_file(file, reference or tail(file))
end

--- Shows the metadata in a floating window; by default of the buffer's file name.
function M.show_metadata(reference)
  M.reference(reference or vim.fn.expand('%:t'), function(failure, place)
    if failure then
      return complain(failure)
    end
    M.call('reference/getMetadata', { reference = place }, function(refusal, metadata)
      if refusal then
        return complain(refusal)
      end
      vim.lsp.util.open_floating_preview(vim.split(vim.inspect(metadata), '\n'), 'lua')
    end)
  end)
end

--- Ends the connection. A private service ends, and cancels unfinished transfers; in a shared one they continue.
function M.stop()
  if service.is_shared then
    transfers = {}
  else
    for _, transfer in ipairs(transfers) do
      control(transfer, 'cancel') -- else it would wait for the next service
    end
    vim.wait(3000, function() return not next(transfers) end, 10)
  end
  service.stop()
end

return M

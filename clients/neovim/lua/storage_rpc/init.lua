--- Cloud Storage for Firebase, through storage-rpc on Neovim's own JSON-RPC. The service is started when it is first
--- needed, and ends with Neovim, and uploads with it.

local M = {}

local options = {
  command = nil, -- program and flags; else $STORAGE_RPC, else storage-rpc on the PATH
  -- function(kind, reason) that returns a token, {token = …, expiresIn = seconds} or nil. Asked with nil and 'start'
  -- first, for the kind that the engine takes; then with a kind, and 'expired' or 'refused'.
  token = nil,
}

local rpc -- the connection, or nil
local waiting = {} -- what waits for an answer: callbacks by a key of their own
local uploads = {} -- what has not ended, by task
local newest -- the upload that was started last

function M.setup(given)
  options = given or {}
end

local function say(text, level)
  vim.notify('storage-rpc: ' .. text, level or vim.log.levels.INFO)
end

local function sentence(failure)
  local name = type(failure.data) == 'table' and failure.data.name or 'error'
  return ('%s (%d): %s'):format(name, failure.code, failure.message)
end

local function complain(failure)
  if failure then
    say(sentence(failure), vim.log.levels.ERROR)
  end
end

local function fresh_token(kind, reason)
  local answer = options.token and options.token(kind, reason)
  return type(answer) == 'string' and { token = answer } or answer
end

local function finish(upload, snapshot)
  uploads[upload.task or upload] = nil
  if newest == upload then
    newest = nil
  end
  if snapshot.error then
    say(('upload of %s failed: %s'):format(upload.file, sentence(snapshot.error)), vim.log.levels.ERROR)
  else
    say(('stored %s as %s'):format(upload.file, snapshot.reference.url))
  end
  if upload.on_end then
    upload.on_end(snapshot)
  end
end

local function hear(method, params)
  local upload = method == 'uploadTask/event' and uploads[params.snapshot.task]
  if not upload then
    return
  end
  upload.snapshot = params.snapshot
  if params.snapshot.status ~= 'progress' then
    return finish(upload, params.snapshot)
  end
  local tenth = math.floor(params.snapshot.progress.fractionCompleted * 10)
  if tenth > upload.tenth then
    upload.tenth = tenth
    say(('%s: %d %%'):format(vim.fn.fnamemodify(upload.file, ':t'), tenth * 10))
  end
end

local function answer(method, params)
  if method ~= 'auth/refreshToken' then
    return nil, vim.lsp.rpc.rpc_response_error(vim.lsp.protocol.ErrorCodes.MethodNotFound)
  end
  return fresh_token(params.kind, params.reason) or error('There is no token.')
end

--- Fails whatever the service was doing; what is begun from now on is for another one.
local function ended(status)
  local failure = { code = -1, message = ('The service has ended with status %d.'):format(status) }
  local lost, unanswered = uploads, waiting
  rpc, uploads, waiting = nil, {}, {}
  vim.schedule(function()
    for _, callback in pairs(unanswered) do
      callback(failure)
    end
    for _, upload in pairs(lost) do
      finish(upload, { status = 'failure', error = failure, reference = upload.reference })
    end
  end)
end

local function request(method, params, callback)
  local key = {}
  waiting[key] = callback
  local sent = rpc.request(method, params, function(failure, result)
    if waiting[key] then
      waiting[key] = nil
      callback(failure, result)
    end
  end)
  if not sent then
    waiting[key] = nil
    callback({ code = -1, message = 'The service has ended.' })
  end
end

local function connect()
  if rpc then
    return true
  end
  local command = options.command or { vim.env.STORAGE_RPC or 'storage-rpc' }
  if vim.fn.executable(command[1]) == 0 then
    say(('there is no program %s: see setup and $STORAGE_RPC'):format(command[1]), vim.log.levels.ERROR)
    return false
  end
  local dispatchers = { notification = hear, server_request = answer, on_exit = ended }
  if vim.fn.has('nvim-0.10') == 1 then
    rpc = vim.lsp.rpc.start(command, dispatchers)
  else
    rpc = vim.lsp.rpc.start(command[1], vim.list_slice(command, 2), dispatchers)
  end
  request('initialize', { protocolVersion = 1, client = { name = 'neovim' } }, complain)
  local first = fresh_token(nil, 'start')
  if first then
    request('auth/setToken', first, complain)
  end
  vim.cmd([[autocmd VimLeavePre * ++once lua require('storage_rpc').stop()]])
  return true
end

--- Calls a method; `callback(failure, result)` gets one of them.
function M.call(method, params, callback)
  -- The service could not say which request it was that is no UTF-8; Vim's own encoder refuses it.
  local ok, why = pcall(vim.fn.json_encode, params)
  if not ok then
    callback({ code = -1, message = why })
  elseif connect() then
    request(method, params, callback)
  else
    callback({ code = -1, message = 'The service cannot be started.' })
  end
end

--- Uploads a file to gs://BUCKET/PATH, or to a path in the default bucket; `on_end` gets the last snapshot.
function M.put_file(file, reference, on_end)
  local upload = { file = vim.fn.fnamemodify(file, ':p'), tenth = 0, on_end = on_end }
  newest = upload
  local function fail(failure)
    finish(upload, { status = 'failure', error = failure, reference = upload.reference })
  end
  M.reference(reference, function(failure, place)
    if failure then
      return fail(failure)
    end
    upload.reference = place
    -- As a URL, a name may have any bytes.
    local params = { reference = place, file = vim.uri_from_fname(upload.file), observe = { 'progress', 'success', 'failure' } }
    M.call('reference/putFile', params, function(refusal, snapshot)
      if refusal then
        return fail(refusal)
      end
      upload.task, upload.snapshot = snapshot.task, snapshot
      uploads[upload.task] = upload
      if upload.cancelled then
        M.cancel(upload)
      end
    end)
  end)
  return upload
end

function M.reference(reference, callback)
  M.call('storage/reference', { [reference:find('://', 1, true) and 'url' or 'path'] = reference }, callback)
end

function M.put_buffer(reference)
  local file = vim.api.nvim_buf_get_name(0)
  if file == '' or vim.bo.buftype ~= '' or vim.bo.modified then
    return say('this buffer has no file, or has changes that are not written', vim.log.levels.ERROR)
  end
  return M.put_file(file, reference or vim.fn.fnamemodify(file, ':t'))
end

--- Cancels an upload, the newest where none is given; it ends with the error `cancelled`.
function M.cancel(upload)
  upload = upload or newest
  if not upload then
    return say('there is no upload', vim.log.levels.WARN)
  elseif not upload.task then
    upload.cancelled = true -- as soon as it has begun
    return
  end
  M.call('uploadTask/cancel', { task = upload.task }, complain)
end

--- Shows the metadata in a floating window; of this buffer's file name where no reference is given.
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

--- Ends the service, and the uploads that have not ended.
function M.stop()
  local running = rpc
  if not running then
    return
  end
  running.request('shutdown', nil, function()
    running.notify('exit')
  end)
  if vim.wait(3000, function() return rpc ~= running end, 10) then
    return
  elseif running.terminate then
    running.terminate()
  else
    running.handle:kill('sigterm')
  end
end

return M

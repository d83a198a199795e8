--- Cloud Storage for Firebase, through storage-rpc. The service is started when it is first needed, and ends with
--- Neovim, and uploads with it.

local service = require('storage_rpc.service')
local say, sentence, complain = service.say, service.sentence, service.complain

local M = { call = service.call }

local uploads = {} -- what has not ended, by task
local newest -- the upload that was started last

--- `command`: program and flags; else $STORAGE_RPC, else storage-rpc on the PATH.
--- `token`: function(kind, reason) that returns a token, {token = …, expiresIn = seconds} or nil. Asked with nil and
--- 'start' first, for the kind that the engine takes; then with a kind, and 'expired' or 'refused'.
function M.setup(given)
  service.options = given or {}
end

local function tail(file)
  return vim.fn.fnamemodify(file, ':t')
end

local function finish(upload, snapshot)
  uploads[upload.task or upload] = nil
  if newest == upload then
    newest = nil
  end
  local name = tail(upload.file) -- the whole path would make Neovim ask for ENTER
  if snapshot.error then
    say(('upload of %s failed: %s'):format(name, sentence(snapshot.error)), vim.log.levels.ERROR)
  else
    say(('stored %s as %s'):format(name, snapshot.reference.url))
  end
  if upload.on_end then
    upload.on_end(snapshot)
  end
end

local function fail(upload, failure)
  finish(upload, { status = 'failure', error = failure, reference = upload.reference })
end

function service.hear(method, params)
  local upload = method == 'uploadTask/event' and uploads[params.snapshot.task]
  if not upload then
    return
  end
  upload.snapshot = params.snapshot
  if params.snapshot.status ~= 'progress' then
    return finish(upload, params.snapshot)
  end
  local retry = params.snapshot.retry
  if retry then
    say(('%s: %s Attempt %d of %s, next at %s.'):format(tail(upload.file), retry.error.message, retry.attempt, retry.of, retry.at))
  end
  local tenth = math.floor(params.snapshot.progress.fractionCompleted * 10)
  if tenth > upload.tenth then
    upload.tenth = tenth
    say(('%s: %d %%'):format(tail(upload.file), tenth * 10))
  end
end

function service.lose(failure)
  local lost = uploads
  uploads = {}
  vim.schedule(function()
    for _, upload in pairs(lost) do
      fail(upload, failure)
    end
  end)
end

--- Uploads a file to gs://BUCKET/PATH, or to a path in the default bucket; `on_end` gets the last snapshot.
function M.put_file(file, reference, on_end)
  local upload = { file = vim.fn.fnamemodify(file, ':p'), tenth = 0, on_end = on_end }
  newest = upload
  M.reference(reference, function(failure, place)
    if failure then
      return fail(upload, failure)
    end
    upload.reference = place
    -- As a URL, a name may have any bytes.
    local params = { reference = place, file = vim.uri_from_fname(upload.file), observe = { 'progress', 'success', 'failure' } }
    M.call('reference/putFile', params, function(refusal, snapshot)
      if refusal then
        return fail(upload, refusal)
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
  return M.put_file(file, reference or tail(file))
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
  for _, upload in pairs(uploads) do
    M.cancel(upload) -- else it would wait for the next service
  end
  vim.wait(3000, function() return not next(uploads) end, 10)
  service.stop()
end

return M

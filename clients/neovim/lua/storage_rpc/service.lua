--- The service: started when it is first needed, on Neovim's own JSON-RPC, and asked until it ends.

local M = {
  options = {}, -- `command` and `token`, as for setup
  hear = nil, -- function(method, params), for each event
  lose = nil, -- function(failure), once the service has ended
}

local rpc -- the connection, or nil
local waiting = {} -- what waits for an answer: callbacks by a key of their own

function M.say(text, level)
  vim.notify('storage-rpc: ' .. text, level or vim.log.levels.INFO)
end

function M.sentence(failure)
  local name = type(failure.data) == 'table' and failure.data.name or 'error'
  return ('%s (%d): %s'):format(name, failure.code, failure.message)
end

function M.complain(failure)
  if failure then
    M.say(M.sentence(failure), vim.log.levels.ERROR)
  end
end

local function fresh_token(kind, reason)
  local answer = M.options.token and M.options.token(kind, reason)
  return type(answer) == 'string' and { token = answer } or answer
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
  local unanswered = waiting
  rpc, waiting = nil, {}
  vim.schedule(function()
    for _, callback in pairs(unanswered) do
      callback(failure)
    end
  end)
  M.lose(failure)
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
  local command = M.options.command or { vim.env.STORAGE_RPC or 'storage-rpc' }
  if vim.fn.executable(command[1]) == 0 then
    M.say(('there is no program %s: see setup and $STORAGE_RPC'):format(command[1]), vim.log.levels.ERROR)
    return false
  end
  local dispatchers = { notification = M.hear, server_request = answer, on_exit = ended }
  if vim.fn.has('nvim-0.10') == 1 then
    rpc = vim.lsp.rpc.start(command, dispatchers)
  else
    rpc = vim.lsp.rpc.start(command[1], vim.list_slice(command, 2), dispatchers)
  end
  request('initialize', { protocolVersion = 1, client = { name = 'neovim' } }, M.complain)
  local first = fresh_token(nil, 'start')
  if first then
    request('auth/setToken', first, M.complain)
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

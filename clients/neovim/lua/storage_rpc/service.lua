--- The service: connects to it, or starts it, on first use, and sends its requests.

local rpc = require('storage_rpc.rpc')

local M = {
  options = {}, -- `command`, `socket` and `token`, as for setup
  hear = nil, -- function(method, params), for each event
  lose = nil, -- function(failure), once the service has ended
  is_shared = nil, -- whether the service goes on when Neovim ends
}

local connection -- or nil

function M.say(text, level)
  vim.notify('storage-rpc: ' .. text, level or vim.log.levels.INFO)
end

function M.sentence(failure)
  if failure.code == -1 then
    return failure.message
  end
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
    return nil, { code = -32601, message = ('There is no method %s here.'):format(method) }
  end
  local token = fresh_token(params.kind, params.reason)
  return token, not token and { code = -32603, message = 'There is no token.' } or nil
end

--- Returns the connection, or nil and the reason.
local function open()
  local handlers = { notification = M.hear, request = answer }
  function handlers.ended(failure)
    connection = nil
    M.lose(failure)
  end
  if M.options.socket then
    M.is_shared = true
    return rpc.connect(M.options.socket, handlers)
  end
  local command = M.options.command or { vim.env.STORAGE_RPC or 'storage-rpc', 'connect' }
  M.is_shared = command[2] == 'connect'
  if vim.fn.executable(command[1]) == 0 then
    return nil, ('there is no program %s: see setup and $STORAGE_RPC'):format(command[1])
  end
  return rpc.spawn(command, handlers)
end

local function connect()
  if connection then
    return true
  end
  local why
  connection, why = open()
  if not connection then
    return false, why
  end
  connection:request('initialize', { protocolVersion = 1, client = { name = 'neovim' } }, function() end)
  local first = fresh_token(nil, 'start')
  if first then
    connection:request('auth/setToken', first, M.complain)
  end
  vim.cmd([[autocmd VimLeavePre * ++once lua require('storage_rpc').stop()]])
  return true
end

--- Calls a method; `callback(failure, result)` gets one of them. Returns a function that ends the wait for the answer:
--- the callback then gets -32800.
function M.call(method, params, callback)
  -- The service could not say which request it was that is no UTF-8; Vim's own encoder refuses it.
  local ok, why = pcall(vim.fn.json_encode, params)
  if ok then
    ok, why = connect()
  end
  if not ok then
    callback({ code = -1, message = why })
    return function() end
  end
  local asked = connection
  local id = asked:request(method, params, callback)
  return function()
    asked:notify('$/cancelRequest', { id = id })
  end
end

--- Ends the connection, and with it a service that is not shared.
function M.stop()
  local running = connection
  if not running then
    return
  end
  running:request('shutdown', nil, function()
    running:notify('exit')
  end)
  if not vim.wait(3000, function() return connection ~= running end, 10) then
    running:break_off()
  end
end

return M

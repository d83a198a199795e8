--- JSON-RPC with a service, one message per line: a process on its stdin and stdout, or a Unix socket. All callbacks run
--- on the main loop, in the order of the messages.

local uv = vim.uv or vim.loop
local Connection = {}
Connection.__index = Connection

local M = {}

local function new(handlers)
  return setmetatable({ handlers = handlers, waiting = {}, count = 0, open = 0, last_words = '' }, Connection)
end

function Connection:write(message)
  message.jsonrpc = '2.0'
  if self.input:is_closing() then
    return false
  end
  self.input:write(vim.json.encode(message) .. '\n')
  return true
end

--- `callback(failure, result)` gets one of them, also when the service ends first. Returns the number of the request.
function Connection:request(method, params, callback)
  self.count = self.count + 1
  local id = self.count
  if not self.over and self:write({ id = id, method = method, params = params }) then
    self.waiting[id] = callback
  else
    callback({ code = -1, message = 'The service has ended.' })
  end
  return id
end

function Connection:notify(method, params)
  self:write({ method = method, params = params })
end

function Connection:serve(message)
  local ok, result, failure = pcall(self.handlers.request, message.method, message.params)
  if not ok then
    failure = { code = -32603, message = message.method .. ' failed in the client.' }
  end
  self:write({ id = message.id, result = not failure and result or nil, error = failure })
end

function Connection:take(message)
  if message.method and message.id ~= nil then
    return self:serve(message)
  elseif message.method then
    return self.handlers.notification(message.method, message.params)
  end
  local callback = self.waiting[message.id]
  if callback then
    self.waiting[message.id] = nil
    callback(message.error, message.result)
  end
end

--- Calls back with each line of a stream; at its end, once.
local function read_lines(stream, on_line, on_end)
  local pieces = {}
  stream:read_start(function(_, chunk)
    if not chunk then
      stream:close()
      return on_end()
    end
    local from = 1
    for at in chunk:gmatch('()\n') do
      table.insert(pieces, chunk:sub(from, at - 1))
      on_line(table.concat(pieces))
      pieces, from = {}, at + 1
    end
    table.insert(pieces, chunk:sub(from))
  end)
end

function Connection:listen(output)
  self.open = self.open + 1
  read_lines(output, function(line)
    local ok, message = pcall(vim.json.decode, line, { luanil = { object = true } })
    if ok and type(message) == 'table' then
      vim.schedule(function()
        self:take(message)
      end)
    end
  end, function()
    self:close_part()
  end)
end

--- The connection ends with the last of its streams and its process: all output has been read then.
function Connection:close_part()
  self.open = self.open - 1
  if self.open > 0 then
    return
  end
  self.over = true
  if not self.input:is_closing() then
    self.input:close()
  end
  vim.schedule(function()
    local why = 'The service has ended' .. (self.last_words == '' and '.' or ': ' .. self.last_words)
    local failure, waiting = { code = -1, message = why }, self.waiting
    self.waiting = {}
    for _, callback in pairs(waiting) do
      callback(failure)
    end
    self.handlers.ended(failure)
  end)
end

--- A program with its flags. Returns the connection, or nil and the reason.
function M.spawn(command, handlers)
  local self = new(handlers)
  local output, errors = uv.new_pipe(false), uv.new_pipe(false)
  self.input = uv.new_pipe(false)
  local arguments = { args = vim.list_slice(command, 2), stdio = { self.input, output, errors } }
  local process, why
  process, why = uv.spawn(command[1], arguments, function()
    process:close()
    self:close_part()
  end)
  if not process then
    for _, pipe in ipairs({ self.input, output, errors }) do
      pipe:close()
    end
    return nil, ('%s cannot be started: %s'):format(command[1], why)
  end
  self.process, self.open = process, 2 -- with stderr
  self:listen(output)
  read_lines(errors, function(line)
    self.last_words = line
  end, function()
    self:close_part()
  end)
  return self
end

--- The Unix socket of a running service. Returns the connection, or nil and the reason.
function M.connect(path, handlers)
  local self = new(handlers)
  self.input = uv.new_pipe(false)
  local done, why
  self.input:connect(path, function(failure)
    done, why = true, failure
  end)
  if not vim.wait(3000, function() return done end, 5) or why then
    self.input:close()
    return nil, ('No service can be reached at %s: %s'):format(path, why or 'it does not answer')
  end
  self:listen(self.input)
  return self
end

--- Ends the connection without a message.
function Connection:break_off()
  if self.process then
    self.process:kill('sigterm')
  elseif not self.input:is_closing() then
    self.input:close()
    self:close_part()
  end
end

return M

vim9script
# A session with the service through Vim's own channels, from ping to exit: a pattern for plugins, and a test.
# STORAGE_RPC=… vim -u NONE -i NONE -n -N -es -S clients/vim/session.vim

var events: list<dict<any>> = [] # what was heard and not looked at yet
var tokens: list<string> = [] # what is answered when the service asks; it is refused when there is none
var asked: list<dict<any>> = []

# Of the service: a notification, or a request, which has an id. Answers to Call do not come here.
def Hear(channel: channel, message: dict<any>)
  if !message->has_key('id')
    events->add(message.params)
    return
  endif
  asked->add(message.params)
  if empty(tokens)
    ch_sendexpr(channel, {id: message.id, error: {code: -32000, message: 'Nobody is signed in.'}})
  else
    ch_sendexpr(channel, {id: message.id, result: {token: remove(tokens, 0)}})
  endif
enddef

def Start(...flags: list<string>): job
  return job_start([$STORAGE_RPC] + flags, {mode: 'lsp', callback: Hear, err_io: 'null'})
enddef

# The result, or an exception with the code.
def Call(channel: channel, method: string, params: dict<any> = {}): any
  const answer = ch_evalexpr(channel, {method: method, params: params}, {timeout: 60000})
  if empty(answer)
    throw $'storage-rpc: no answer to {method}'
  elseif answer->has_key('error')
    throw $'storage-rpc: {answer.error.code}: {answer.error.message}'
  endif
  return answer.result
enddef

# The snapshot of the next event of that status; those before it are passed over.
def Await(status: string): dict<any>
  while true
    while empty(events)
      sleep 5m # Vim reads channels meanwhile
    endwhile
    const snapshot = remove(events, 0).snapshot
    if snapshot.status == status
      return snapshot
    endif
  endwhile
  return {}
enddef

def Ended(job: job): number
  while job_status(job) == 'run'
    sleep 5m
  endwhile
  return job_info(job).exitval
enddef

def Leave(channel: channel)
  assert_equal(null, Call(channel, 'shutdown'))
  ch_sendexpr(channel, {method: 'exit'}) # without a callback: a notification
enddef

def Refused(code: number, channel: channel, method: string, params: dict<any> = {})
  try
    Call(channel, method, params)
    v:errors->add($'{method} is not refused with {code}')
  catch /^storage-rpc: /
    assert_match($'^storage-rpc: {code}: ', v:exception)
  endtry
enddef

# An upload: progress, pause, resume; and one that is cancelled.
def Transfer(channel: channel, file: string)
  const film = Call(channel, 'storage/reference', {path: 'films/film.mov'})
  assert_equal('gs://default-bucket/films/film.mov', film.url)
  const params = {reference: film, file: file, observe: true}

  const task = Call(channel, 'reference/putFile', params).task
  assert_true(Await('progress').progress.fractionCompleted < 1)
  assert_true(Call(channel, 'uploadTask/pause', {task: task}).accepted)
  assert_equal('paused', Await('pause').state)
  assert_true(Call(channel, 'uploadTask/resume', {task: task}).accepted)
  assert_equal(getfsize(file), Await('success').metadata.size)

  const other = Call(channel, 'reference/putFile', params).task
  Await('progress')
  assert_true(Call(channel, 'uploadTask/cancel', {task: other}).accepted)
  assert_equal(-13040, Await('failure').error.code)
enddef

# A server takes the token "fresh" alone: it is asked for, once with success.
def Tokens(channel: channel)
  const film = {reference: 'gs://default-bucket/film.mov'}
  tokens = ['fresh']
  Call(channel, 'auth/setToken', {token: 'stale'})
  assert_equal(5, Call(channel, 'reference/getMetadata', film).size)
  Call(channel, 'auth/setToken', {token: 'staler'})
  Refused(-13020, channel, 'reference/getMetadata', film)
  assert_equal(repeat([{kind: 'idToken', reason: 'refused'}], 2), asked)
enddef

def Session(directory: string)
  const root = $'{directory}/root'
  const file = $'{directory}/film.mov'
  system($'truncate -s 256M {shellescape(file)}')
  const job = Start('--root', root, '--upload-chunk-size-bytes', '262144')
  const channel = job_getchannel(job)
  assert_equal('pong', Call(channel, 'service/ping'))
  Transfer(channel, file)
  Refused(-13010, channel, 'reference/getMetadata', {reference: 'gs://default-bucket/none'})
  Refused(-32601, channel, 'no/such')
  Leave(channel)
  assert_equal(0, Ended(job))

  const server = job_start(['python3', expand('<script>:p:h') .. '/server.py'], {err_io: 'null'})
  const endpoint = ch_readraw(server)->trim()
  const remote = Start('--root', root, '--engine', 'firebase', '--endpoint', endpoint)
  Tokens(job_getchannel(remote))
  Leave(job_getchannel(remote))
  assert_equal(0, Ended(remote))
  job_stop(server)

  # One that is shared goes on: here for the process of `connect`, and on its socket.
  const relay = Start('connect', '--root', root)
  const pid = Call(job_getchannel(relay), 'service/status').pid
  const other = ch_open($'unix:{root}/socket', {mode: 'lsp', callback: Hear})
  Leave(job_getchannel(relay))
  assert_equal(0, Ended(relay))
  assert_equal(pid, Call(other, 'service/status').pid)
  Call(other, 'service/stop')
  while ch_status(other) == 'open'
    sleep 5m
  endwhile
enddef

def Main()
  const directory = tempname()
  mkdir(directory)
  try
    Session(directory)
  catch
    v:errors->add($'{v:exception} at {v:throwpoint}')
  finally
    delete(directory, 'rf')
  endtry
  setline(1, v:errors ?? ['ok: a session from ping to exit'])
  :%print # which is all that is shown in this mode
  execute empty(v:errors) ? 'qall!' : 'cquit'
enddef

Main()

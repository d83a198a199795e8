vim9script
# Cloud Storage for Firebase, through storage-rpc. The first command connects to the service that all clients of the root
# share, and starts it if there is none. Transfers continue when Vim ends.

var connection = null_channel
var is_shared = false # the service continues when Vim ends
var last_words = '' # of the process, on stderr
var count = 0
var waiting: dict<func> = {} # what takes the answer of each request
var transfers: list<dict<any>> = [] # what was begun or resumed here and has not ended, the newest last
var observers: dict<func> = {} # what is called with each change, by handle

# Messages

def Say(text: string)
  redraw
  echomsg 'storage-rpc: ' .. text
enddef

def Complain(text: string)
  redraw
  echohl ErrorMsg
  echomsg 'storage-rpc: ' .. text
  echohl None
enddef

def Sentence(failure: dict<any>): string
  if failure.code == -1
    return failure.message
  endif
  return printf('%s (%d): %s', get(get(failure, 'data', {}), 'name', 'error'), failure.code, failure.message)
enddef

# The connection

def Connect(): channel
  if ch_status(connection) == 'open'
    return connection
  endif
  const options = {mode: 'lsp', callback: Hear, close_cb: Closed}
  const socket = get(g:, 'storage_rpc_socket', '')
  [last_words, is_shared] = ['', true]
  if socket != ''
    try
      connection = ch_open('unix:' .. socket, options)
    catch
      throw $'no service can be reached at {socket}: {v:exception}'
    endtry
  else
    const command = get(g:, 'storage_rpc_command', [$STORAGE_RPC ?? 'storage-rpc', 'connect'])
    if !executable(command[0])
      throw $'there is no program {command[0]}: see :help storage_rpc-settings'
    endif
    is_shared = get(command, 1, '') == 'connect'
    connection = job_getchannel(job_start(command, options->extendnew({err_mode: 'nl', err_cb: Hark})))
  endif
  Send('initialize', {protocolVersion: 1, client: {name: 'vim', version: string(v:versionlong)}}, (_, _) => {
  })
  const token = Token('', 'start')
  if !empty(token)
    Send('auth/setToken', token, Said)
  endif
  return connection
enddef

def Hark(_: channel, line: string)
  last_words = line
enddef

def Said(failure: dict<any>, _: any)
  if !empty(failure)
    Complain(Sentence(failure))
  endif
enddef

def Closed(closed: channel)
  if closed != connection # of before
    return
  endif
  connection = null_channel
  const failure = {code: -1, message: 'the service has ended' .. (last_words == '' ? '' : ': ' .. last_words)}
  const [asked, lost, heard] = [waiting, transfers, observers]
  [waiting, transfers, observers] = [{}, [], {}]
  for Take in values(asked)
    Take(failure, null)
  endfor
  for transfer in lost
    if transfer.task != '' # else its request has failed
      Fail(transfer, failure)
    endif
  endfor
  for Observer in values(heard)
    Observer({})
  endfor
enddef

def Send(method: string, params: any, Take: func)
  count += 1
  const number = string(count)
  waiting[number] = Take
  try
    ch_sendexpr(connection, {method: method, params: params}, {callback: (_, answer) => Answered(number, answer)})
  catch
    if waiting->has_key(number)
      remove(waiting, number)
      Take({code: -1, message: v:exception}, null)
    endif
  endtry
enddef

def Answered(number: string, answer: dict<any>)
  if waiting->has_key(number)
    const Take = remove(waiting, number)
    Take(get(answer, 'error', {}), get(answer, 'result', null))
  endif
enddef

# Calls a method; `Take(failure, result)` gets the answer. The failure is empty unless there is one.
export def Call(method: string, params: any, Take: func)
  try
    Connect()
  catch
    Take({code: -1, message: v:exception}, null)
    return
  endtry
  Send(method, params, Take)
enddef

# Ends the connection. In a service that is shared transfers go on; a private one ends, and they pause.
export def Stop()
  if ch_status(connection) == 'open'
    if is_shared
      transfers = []
    endif
    const ended = connection
    ch_evalexpr(ended, {method: 'shutdown'}, {timeout: 3000})
    ch_sendexpr(ended, {method: 'exit'})
    Closed(ended)
  endif
enddef

def Token(kind: string, reason: string): dict<any>
  if !exists('g:Storage_rpc_token')
    return {}
  endif
  const token = call(g:Storage_rpc_token, [kind, reason])
  return type(token) == v:t_dict ? token : token == '' ? {} : {token: token}
enddef

# A notification of the service, or a request, which has an id.
def Hear(from: channel, message: dict<any>)
  if message->has_key('id')
    const token = message.method == 'auth/refreshToken' ? Token(message.params.kind, message.params.reason) : {}
    if message.method != 'auth/refreshToken'
      ch_sendexpr(from, {id: message.id, error: {code: -32601, message: $'There is no method {message.method} here.'}})
    elseif empty(token)
      ch_sendexpr(from, {id: message.id, error: {code: -32603, message: 'There is no token.'}})
    else
      ch_sendexpr(from, {id: message.id, result: token})
    endif
  elseif message.method == 'storage/changed'
    if observers->has_key(message.params.handle)
      const Observer = observers[message.params.handle]
      Observer(message.params)
    endif
  elseif message.method =~ 'Task/event$'
    for transfer in transfers->copy()
      if transfer.task == message.params.snapshot.task
        Show(transfer, message.params.snapshot)
      endif
    endfor
  endif
enddef

# Progress

def Percent(snapshot: dict<any>): number
  return float2nr(snapshot.progress.fractionCompleted * 100)
enddef

def Name(transfer: dict<any>): string
  return fnamemodify(transfer.file, ':t') # a whole path would make Vim ask for ENTER
enddef

def Show(transfer: dict<any>, snapshot: dict<any>)
  transfer.snapshot = snapshot
  if snapshot.status == 'progress'
    if snapshot->has_key('retry')
      const retry = snapshot.retry
      Say($'{Name(transfer)}: {retry.error.message} Attempt {retry.attempt} of {retry.of}, next at {retry.at}.')
    endif
    const tenth = Percent(snapshot) / 10
    if tenth > transfer.tenth
      transfer.tenth = tenth
      redraw
      echo $'storage-rpc: {Name(transfer)}: {tenth * 10} %'
    endif
  elseif snapshot.status == 'pause'
    Say($'{Name(transfer)}: paused at {Percent(snapshot)} %')
  elseif snapshot.status == 'success' || snapshot.status == 'failure'
    Finish(transfer, snapshot)
  endif
  redrawstatus!
enddef

def Success(transfer: dict<any>, snapshot: dict<any>): string
  const url = snapshot.reference.url
  if transfer.kind == 'upload'
    return $'stored {Name(transfer)} as {url}'
  elseif transfer.kind == 'download'
    return $'downloaded {Name(transfer)} from {url}'
  endif
  const [files, how] = [snapshot.files, snapshot.kind == 'put' ? 'stored below' : 'downloaded from']
  return $'{files.completed} files {how} {url}, {files.unchanged} unchanged, {files.refused} refused'
enddef

def Finish(transfer: dict<any>, snapshot: dict<any>)
  transfers->filter((_, one) => one isnot transfer)
  transfer.snapshot = snapshot
  if snapshot->has_key('error')
    Complain($'{transfer.kind} of {Name(transfer)} failed: {Sentence(snapshot.error)}')
  else
    Say(Success(transfer, snapshot))
  endif
  if snapshot->has_key('failures')
    Call('folderTask/items', {task: transfer.task, states: ['failed', 'refused']},
      (failure, page) => Report(transfer, empty(failure) ? page.items : snapshot.failures))
  endif
  if transfer.OnEnd != null_function
    const OnEnd = transfer.OnEnd
    OnEnd(snapshot)
  endif
enddef

def Fail(transfer: dict<any>, failure: dict<any>)
  Finish(transfer, transfer.snapshot->extendnew({status: 'failure', error: failure}))
enddef

# Files that have failed or were refused become the quickfix list.
def Report(transfer: dict<any>, items: list<dict<any>>)
  const entries = items->mapnew((_, item) => ({
    filename: transfer.file .. '/' .. item.path, text: Sentence(item.error), type: 'E'}))
  setqflist([], ' ', {title: 'storage-rpc: ' .. transfer.file, items: entries})
  Complain($'{len(items)} files of {Name(transfer)} failed or were refused: see :copen')
enddef

# How far the transfers are, for 'statusline', such as `↑42% ↓7% paused`; empty if there are none.
export def Status(): string
  return transfers->copy()->filter((_, one) => !empty(one.snapshot))->map((_, one) => {
    const snapshot = one.snapshot
    const mark = index(['download', 'write'], get(snapshot, 'kind', one.kind)) < 0 ? '↑' : '↓'
    const state = snapshot->has_key('retry') ? ' waiting' : snapshot.state == 'running' ? '' : ' ' .. snapshot.state
    return $'{mark}{Percent(snapshot)}%{state}'
  })->join(' ')
enddef

# The transfers of this Vim that have not ended, the newest last: dictionaries with kind, file, task and snapshot.
export def Running(): list<dict<any>>
  return transfers->copy()
enddef

# Transfers

def Reference(reference: string, Take: func)
  Call('storage/reference', {[stridx(reference, '://') < 0 ? 'path' : 'url']: reference}, Take)
enddef

def Begin(kind: string, method: string, file: string, reference: string, OnEnd: func, options = {}): dict<any>
  const path = fnamemodify(file, ':p')->substitute('\(.\)/\+$', '\1', '')
  var transfer = {kind: kind, file: path, task: '', snapshot: {}, tenth: 0, wanted: [], isOther: false, OnEnd: OnEnd}
  transfers->add(transfer)
  Reference(reference, (failure, place) => {
    if !empty(failure)
      Fail(transfer, failure)
      return
    endif
    const params = {reference: place, observe: ['progress', 'pause', 'success', 'failure'],
      [kind == 'folder' ? 'directory' : 'file']: path}
    Call(method, params->extendnew(options), (refusal, snapshot) => {
      if !empty(refusal)
        Fail(transfer, refusal)
        return
      endif
      [transfer.task, transfer.snapshot] = [snapshot.task, snapshot]
      for verb in transfer.wanted
        Tell(transfer, verb)
      endfor
    })
  })
  return transfer
enddef

# Uploads a file to gs://BUCKET/PATH, or to a path in the default bucket; `OnEnd` gets the last snapshot.
export def PutFile(file: string, reference: string, OnEnd: func = null_function): dict<any>
  return Begin('upload', 'reference/putFile', file, reference, OnEnd)
enddef

export def GetFile(reference: string, file: string, OnEnd: func = null_function): dict<any>
  return Begin('download', 'reference/writeToFile', file, reference, OnEnd)
enddef

# All files of a directory, as one task. `options` are those of reference/putDirectory.
export def PutDirectory(directory: string, reference: string, OnEnd: func = null_function, options = {}): dict<any>
  return Begin('folder', 'reference/putDirectory', directory, reference, OnEnd, options)
enddef

export def GetDirectory(reference: string, directory: string, OnEnd: func = null_function, options = {}): dict<any>
  return Begin('folder', 'reference/writeToDirectory', directory, reference, OnEnd, options)
enddef

# Control

const fitting = {
  pause: ['starting', 'queued', 'running'], resume: ['paused'], retry: ['running'],
  cancel: ['starting', 'queued', 'running', 'paused'],
}
const done = {pause: 'paused', resume: 'resumed', retry: 'tries again', cancel: 'cancelled'}

def State(transfer: dict<any>): string
  return get(transfer.snapshot, 'state', 'starting')
enddef

def Tell(transfer: dict<any>, verb: string)
  if transfer.task == ''
    transfer.wanted->add(verb) # as soon as it has begun
    return
  endif
  Call($'{transfer.kind}Task/{verb}', {task: transfer.task}, (failure, answer) => {
    if !empty(failure)
      Complain(Sentence(failure))
      return
    endif
    transfer.snapshot = answer.snapshot
    if !answer.accepted
      Say($'{Name(transfer)} is {State(transfer)}')
    elseif transfer.isOther # the transfers that were begun here have events
      Say($'{transfer.file}: {done[verb]}')
      if verb == 'resume' || verb == 'retry'
        Adopt(transfer)
      endif
    endif
  })
enddef

# Follows a transfer that was begun elsewhere, such as in an earlier session.
def Adopt(transfer: dict<any>)
  [transfer.isOther, transfer.tenth] = [false, Percent(transfer.snapshot) / 10]
  transfers->add(transfer)
  for status in ['progress', 'pause', 'success', 'failure']
    Call($'{transfer.kind}Task/observe', {task: transfer.task, status: status}, (failure, _) => {
      if !empty(failure) && transfers->copy()->filter((_, one) => one is transfer) != []
        Fail(transfer, failure)
      endif
    })
  endfor
enddef

# Takes the transfers of the service that this Vim does not follow.
def Others(Take: func(list<dict<any>>), kinds = ['upload', 'download', 'folder'], found: list<dict<any>> = [])
  if empty(kinds)
    Take(found)
    return
  endif
  const kind = kinds[0]
  Call(kind .. 'Task/list', {}, (failure, answer) => {
    Said(failure, null)
    const tasks = empty(failure) ? answer.tasks : []
    var these = tasks->mapnew((_, snapshot) => ({kind: kind, file: snapshot.reference.url, task: snapshot.task,
      snapshot: snapshot, tenth: 0, wanted: [], isOther: true, OnEnd: null_function}))
    Others(Take, kinds[1 :], found + these)
  })
enddef

# Pauses, resumes, retries or cancels a transfer: by default the newest that fits, or one of the service, which the user
# chooses if there are several.
export def Control(verb: string, transfer: dict<any> = {})
  if !empty(transfer)
    Tell(transfer, verb)
    return
  endif
  const Fits = (_, one) => index(fitting[verb], State(one)) >= 0
  const own = transfers->copy()->filter(Fits)
  if !empty(own)
    Tell(own[-1], verb)
    return
  endif
  Others((all) => {
    const found = all->filter(Fits)
    if len(found) < 2
      if empty(found)
        Complain('there is nothing to ' .. verb)
      else
        Tell(found[0], verb)
      endif
      return
    endif
    const lines = found->mapnew((number, one) =>
      $'{number + 1}: {one.kind} of {one.file}, {State(one)} at {Percent(one.snapshot)} %')
    const chosen = inputlist([verb .. ':'] + lines)
    if chosen > 0 && chosen <= len(found)
      Tell(found[chosen - 1], verb)
    endif
  })
enddef

# Changes

# Calls back with each change of a reference and of the objects below it, and with an empty dictionary when the service has
# ended.
export def Observe(reference: string, Observer: func(dict<any>), Begun: func = null_function)
  Reference(reference, (failure, place) => {
    if !empty(failure)
      Complain(Sentence(failure))
      return
    endif
    Call('storage/observe', {reference: place}, (refusal, answer) => {
      if !empty(refusal)
        Complain(Sentence(refusal))
        return
      endif
      observers[answer.handle] = Observer
      if Begun != null_function
        Begun(place)
      endif
    })
  })
enddef

# Ends all that is observed.
export def Unobserve()
  for handle in keys(observers)
    remove(observers, handle)
    Call('storage/removeObserver', {handle: handle}, Said)
  endfor
enddef

# What the commands do with their words

export def PutBuffer(reference: string)
  const file = expand('%:p')
  if file == '' || &buftype != '' || &modified
    Complain('this buffer has no file, or has changes that are not written')
  else
    PutFile(file, reference ?? expand('%:t'))
  endif
enddef

export def GetHere(reference: string, replaces: bool)
  const file = matchstr(reference, '[^/]*$')
  if filereadable(file) && !replaces
    Complain($'{file} exists; :StorageGet! replaces it')
  else
    GetFile(reference, file)
  endif
enddef

def AreTwoAtMost(words: list<string>): bool
  if len(words) > 2
    Complain('these are more than two names; a space in a name is written as "\ "')
  endif
  return len(words) <= 2
enddef

export def PutDirectoryHere(words: list<string>)
  if AreTwoAtMost(words)
    PutDirectory(words[0], get(words, 1, fnamemodify(words[0], ':p:h:t')))
  endif
enddef

export def GetDirectoryHere(words: list<string>, replaces: bool)
  if !AreTwoAtMost(words)
    return
  endif
  const directory = get(words, 1, matchstr(words[0], '[^/]*\ze/*$'))
  if isdirectory(directory) && !replaces
    Complain($'{directory} exists; :StorageGetDirectory! replaces files in it')
  else
    GetDirectory(words[0], directory)
  endif
enddef

export def ObserveHere(reference: string, ends: bool)
  if ends
    Unobserve()
    return
  endif
  Observe(reference, (change) => {
    Say(empty(change) ? 'nothing is observed any more' : $'{change.change} {change.reference.url}')
  }, (place) => {
    Say(place.url .. ' is observed')
  })
enddef

# Shows the metadata in a window; by default of the buffer's file name.
export def ShowMetadata(reference: string)
  Reference(reference ?? expand('%:t'), (failure, place) => {
    if !empty(failure)
      Complain(Sentence(failure))
      return
    endif
    Call('reference/getMetadata', {reference: place}, (refusal, metadata) => {
      if !empty(refusal)
        Complain(Sentence(refusal))
        return
      endif
      new
      setlocal buftype=nofile bufhidden=wipe noswapfile
      silent execute 'file' fnameescape('storage-rpc: ' .. place.url)
      setline(1, metadata->items()->sort()->mapnew((_, member) =>
        printf('%-20s %s', member[0], type(member[1]) == v:t_string ? member[1] : json_encode(member[1]))))
    })
  })
enddef

vim9script
# The Vim plugin against the real service:
# STORAGE_RPC=… vim -u NONE -i NONE -n -N -es -V1 -S clients/vim/test.vim

const here = expand('<script>:p:h')
&runtimepath = here .. ',' .. &runtimepath
runtime plugin/storage_rpc.vim
import autoload 'storage_rpc.vim'

var directory = ''
var checked = 0

def Await(Condition: func(): bool, what: string)
  for _ in range(12000) # a minute, as a safety net
    if Condition()
      return
    endif
    sleep 5m # Vim reads channels meanwhile
  endfor
  throw $'It has not come: {what}: {execute("messages")}'
enddef

def Heard(pattern: string): bool
  return execute('messages') =~ pattern
enddef

def AwaitSaid(pattern: string)
  Await(() => Heard(pattern), pattern)
enddef

def Answer(method: string, params: any = {}): any
  var answer: list<any> = []
  storage_rpc.Call(method, params, (failure, result) => {
    answer = [failure, result]
  })
  Await(() => !empty(answer), method)
  if !empty(answer[0])
    throw answer[0].message
  endif
  return answer[1]
enddef

def File(name: string, size: number): string
  const path = $'{directory}/{name}'
  mkdir(fnamemodify(path, ':h'), 'p')
  system($'truncate -s {size} {shellescape(path)}')
  return path
enddef

def Put(file: string, reference: string): dict<any>
  var last: dict<any> = {}
  storage_rpc.PutFile(file, reference, (snapshot) => {
    last = snapshot
  })
  Await(() => !empty(last), 'the end of an upload')
  return last
enddef

# Every upload stops before its second MiB, until `Release()`, in a service that has a harness.
def Hold()
  Answer('harness/arm', {on: 'send', at: 1048576, times: null, do: {hold: true}})
enddef

def Release()
  Answer('harness/disarm')
enddef

# The same in a service of its own.
def HoldUploads()
  g:storage_rpc_command->insert('serve', 1)->add('--harness')
  Hold()
enddef

def Edit(file: string)
  execute 'silent edit!' fnameescape(file)
enddef

# The tests. Each has a service of its own.

def TheFileOfABufferIsUploadedWithProgress()
  HoldUploads()
  Edit(File('large.mov', 5000000))
  StoragePut videos/large.mov
  Await(() => storage_rpc#Status() == '↑20%', 'the status')
  Release()
  AwaitSaid('stored large.mov as gs://default-bucket/videos/large.mov')
  assert_equal('', storage_rpc#Status())
  Edit(File('plain.txt', 3))
  StoragePut
  AwaitSaid('as gs://default-bucket/plain.txt')
  setline(1, 'changed')
  StoragePut
  assert_true(Heard('has changes that are not written'))
enddef

def WhatFailsIsSaid()
  Edit($'{directory}/missing')
  StoragePut missing
  AwaitSaid('upload of missing failed: unknown (-13000): ')
  Edit(File('plain.txt', 3))
  StoragePut gs://
  AwaitSaid('pathError (-13053)')
  StorageGetMetadata none
  AwaitSaid('objectNotFound (-13010)')
enddef

def AnUploadIsPausedResumedAndCancelled()
  HoldUploads()
  storage_rpc.PutFile(File('huge', 5000000), 'huge')
  Await(() => storage_rpc#Status() == '↑20%', 'progress')
  StorageRetry
  AwaitSaid('huge is running')
  StoragePause
  AwaitSaid('huge: paused at \d\+ %')
  assert_match('^↑\d\+% paused$', storage_rpc#Status())
  StorageResume
  Await(() => storage_rpc#Status() =~ '\d%$', 'that it resumes')
  StorageCancel
  AwaitSaid('upload of huge failed: cancelled (-13040)')
  StorageCancel
  AwaitSaid('there is nothing to cancel')
enddef

def AFileIsDownloaded()
  Put(File('plain.txt', 5), 'a/copy.txt')
  execute 'cd' directory
  StorageGet a/copy.txt
  AwaitSaid('downloaded copy.txt from gs://default-bucket/a/copy.txt')
  assert_equal(5, getfsize('copy.txt'))
  StorageGet a/copy.txt
  assert_true(Heard('StorageGet! replaces it'))
  StorageGet none
  AwaitSaid('download of none failed: objectNotFound')
enddef

def ADirectoryIsUploadedAndDownloaded()
  File('tree/deep/small', 5)
  File('tree/large', 5000000)
  system($'ln -s large {directory}/tree/link')
  execute 'cd' directory
  StoragePutDirectory tree/ photos
  AwaitSaid('2 files stored below gs://default-bucket/photos, 0 unchanged, 1 refused')
  AwaitSaid('1 files of tree failed or were refused: see :copen')
  assert_match('(-13\d\+)', getqflist()[0].text)
  StorageGetDirectory photos
  AwaitSaid('2 files downloaded from gs://default-bucket/photos')
  assert_equal(5, getfsize('photos/deep/small'))
  StorageGetDirectory photos
  assert_true(Heard('StorageGetDirectory! replaces files in it'))
  StoragePutDirectory tree my photos
  assert_true(Heard('more than two names'))
enddef

def MetadataAndChangesAreShown()
  StorageObserve
  AwaitSaid('gs://default-bucket/ is observed')
  Put(File('plain.txt', 3), 'a/b.txt')
  AwaitSaid('created gs://default-bucket/a/b.txt')
  StorageObserve!
  Put(File('plain.txt', 3), 'a/c.txt')
  Answer('service/ping')
  assert_false(Heard('created gs://default-bucket/a/c.txt'))
  StorageGetMetadata gs://default-bucket/a/b.txt
  Await(() => search('^contentType  *text/plain', 'nw') > 0, 'the metadata')
  bwipeout!
enddef

def OddNames()
  const name = "a  \"b\" 'c' \\d %20 #?é😀*~.txt"
  assert_equal(3, Put(File(name, 3), 'o d"d/é%41').metadata.size)
  assert_equal('o d"d/é%41', Answer('reference/getMetadata', {reference: {bucket: 'default-bucket', fullPath: 'o d"d/é%41'}}).fullPath)
enddef

def AServiceThatEndsFailsWhatItDid()
  HoldUploads()
  storage_rpc.PutFile(File('huge', 5000000), 'huge')
  Await(() => storage_rpc#Status() != '', 'the task')
  system('kill -KILL ' .. Answer('service/status').pid)
  AwaitSaid('upload of huge failed: the service has ended')
  assert_equal(3, Put(File('plain.txt', 3), 'a').metadata.size)
enddef

def AProgramThatIsNotThereIsSaid()
  g:storage_rpc_command = ['/no/such/program']
  Put(File('plain.txt', 3), 'a')
  assert_true(Heard('there is no program /no/such/program'))
  g:storage_rpc_socket = '/no/such/socket'
  Put(File('plain.txt', 3), 'a')
  assert_match('no service can be reached at /no/such/socket', execute('messages'))
enddef

# A server takes the token "fresh" alone: it is asked for.
def TokensComeFromAFunction()
  const server = job_start(['python3', $'{here}/server.py'], {err_io: 'null'})
  const endpoint = ch_readraw(server, {timeout: 60000})->trim()
  var asked: list<list<string>> = []
  var tokens: list<any> = ['stale', {token: 'fresh', expiresIn: 3600}, 'staler', '']
  g:Storage_rpc_token = (kind, reason) => {
    asked->add([kind, reason])
    return remove(tokens, 0)
  }
  g:storage_rpc_command += ['--engine', 'firebase', '--endpoint', endpoint]
  assert_equal(5, Answer('reference/getMetadata', {reference: 'gs://default-bucket/film.mov'}).size)
  storage_rpc.Stop()
  StorageGetMetadata film.mov
  AwaitSaid('unauthenticated (-13020)')
  assert_equal([['', 'start'], ['idToken', 'refused']]->repeat(2), asked)
  unlet g:Storage_rpc_token
  job_stop(server)
enddef

def WhatAnEarlierSessionHasLeftIsFollowedWhenItIsResumed()
  unlet g:storage_rpc_command
  [$XDG_DATA_HOME, $STORAGE_RPC] = [directory, fnamemodify($STORAGE_RPC, ':p')]
  const service = job_start([$STORAGE_RPC, 'serve', '--shared', '--stdio', '--harness', '--root', $'{directory}/storage-rpc'],
    {err_io: 'null'})
  # Its answer on stdout means that it listens: the socket is opened before stdin is read.
  ch_sendraw(service, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"service/ping\"}\n")
  assert_match('pong', ch_readraw(service, {timeout: 60000}))
  Hold()
  assert_equal(job_info(service).process, Answer('service/status').pid)
  storage_rpc.PutFile(File('large', 5000000), 'large')
  Await(() => storage_rpc#Status() != '', 'the task')
  StoragePause
  AwaitSaid('large: paused at')
  storage_rpc.Stop()
  assert_equal('', storage_rpc#Status())
  StorageResume
  AwaitSaid('gs://default-bucket/large: resumed')
  Await(() => storage_rpc#Status() =~ '^↑\d\+%', 'the status')
  Release()
  AwaitSaid('stored large as gs://default-bucket/large')
  storage_rpc.Stop()
  job_stop(service)
  Await(() => job_status(service) == 'dead', 'its end')
enddef

def TheFirstCommandStartsTheServiceThatAllClientsShare()
  unlet g:storage_rpc_command
  [$XDG_DATA_HOME, $STORAGE_RPC] = [directory, fnamemodify($STORAGE_RPC, ':p')]
  const pid = Answer('service/status').pid
  storage_rpc.Stop()
  assert_equal(pid, Answer('service/status').pid)

  # And on a socket.
  storage_rpc.Stop()
  g:storage_rpc_socket = $'{directory}/storage-rpc/socket'
  assert_equal(pid, Answer('service/status').pid)
  Answer('service/stop')
  Await(() => !isdirectory($'/proc/{pid}'), 'its end')
enddef

def TheHelpHasEachCommand()
  execute 'helptags' fnameescape($'{here}/doc')
  for name in getcompletion('Storage', 'command')
    execute 'help :' .. name
    assert_equal('storage_rpc.txt', expand('%:t'))
    helpclose
  endfor
  delete($'{here}/doc/tags')
enddef

const tests = [TheFileOfABufferIsUploadedWithProgress, WhatFailsIsSaid, AnUploadIsPausedResumedAndCancelled,
  AFileIsDownloaded, ADirectoryIsUploadedAndDownloaded, MetadataAndChangesAreShown, OddNames,
  AServiceThatEndsFailsWhatItDid, AProgramThatIsNotThereIsSaid, TokensComeFromAFunction,
  WhatAnEarlierSessionHasLeftIsFollowedWhenItIsResumed, TheFirstCommandStartsTheServiceThatAllClientsShare,
  TheHelpHasEachCommand]

def Main()
  var lines: list<string> = []
  for Test in tests
    directory = tempname()
    mkdir(directory)
    [g:storage_rpc_command, g:storage_rpc_socket] = [[$STORAGE_RPC, '--root', $'{directory}/root'], '']
    messages clear
    const before = len(v:errors)
    try
      Test()
    catch
      v:errors->add($'{v:exception} at {v:throwpoint}')
    endtry
    try
      storage_rpc.Stop()
    catch
      v:errors->add($'{v:exception} at {v:throwpoint}')
    endtry
    cd /
    delete(directory, 'rf')
    lines->add((len(v:errors) == before ? 'ok: ' : 'FAILED: ') .. matchstr(string(Test), '_\zs\w*'))
  endfor
  silent enew!
  setline(1, lines + v:errors)
  :%print # which is all that is shown in this mode
  execute empty(v:errors) ? 'qall!' : 'cquit'
enddef

Main()

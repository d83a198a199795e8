#!/bin/sh
# The shell client against the real service: $STORAGE_RPC_PROGRAM names the program.
set -u
put=$(cd "$(dirname "$0")" && pwd)/storage-rpc-put
STORAGE_RPC=${STORAGE_RPC_PROGRAM:?names the program}
export STORAGE_RPC
directory=$(mktemp -d) || exit 1
failures=0
service=
trap '[ -z "$service" ] || kill "$service"; rm -rf "$directory"' EXIT
cd "$directory" || exit 1

check() { # what it is, then a command that must succeed
    what=$1
    shift
    if "$@"; then
        printf 'ok: %s\n' "$what"
    else
        failures=$((failures + 1))
        printf 'FAILED: %s\n' "$what"
        sed 's/^/    /' errors
    fi
}

# Until a command succeeds: a minute at most, as a safety net.
eventually() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] || return 1
        sleep 0.05
    done
}

one() { # METHOD PARAMS: an answer of a service that has the same objects
    printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' "$1" "$2" | "$STORAGE_RPC" --root root
}

nobody_has() { ! grep -lzsxF -- "$directory/$1" /proc/[0-9]*/cmdline >/dev/null; }
# Uploads in the background, where a signal can be caught: as if at a terminal. Its errors are those of nothing else.
begin() {
    : >errors
    (exec env --default-signal=INT "$@") >stored 2>errors &
    upload=$!
}
# jq -e of version 1.6 succeeds where there is nothing.
has() { [ -s stored ] && jq -e "$@" stored >/dev/null; }
is_paused() { has --arg path "$1" '[.result.tasks[] | select(.reference.fullPath == $path).state] == ["paused"]'; }
says() { grep -q -- "$1" errors; }

head -c 8000000 /dev/zero >large
"$put" large videos/large.bin --root "$directory/root" >stored 2>errors
check 'an upload succeeds' [ $? -eq 0 ]
check 'the metadata is printed' has '.fullPath == "videos/large.bin" and .size == 8000000'
check 'there is progress' says '^100 %$'

"$put" missing videos/missing --root "$directory/root" >stored 2>errors
check 'a missing file fails' [ $? -eq 1 ]
check 'an error has code and name' says 'unknown (-13000): .*missing'
check 'nothing is printed then' [ ! -s stored ]
"$put" large gs:// --root "$directory/root" >stored 2>errors
check 'so does what is no reference' [ $? -eq 1 ]
"$put" large >stored 2>errors
check 'a wrong command line is told from a failure' [ $? -eq 64 ]
"$put" --sharde large x >stored 2>errors
check 'an unknown option is refused' [ $? -eq 64 ]
check 'the option is named' says 'unknown option --sharde'
"$put" "file://$directory/large" x >stored 2>errors
check 'a URL is no name of a file' [ $? -eq 1 ]

"$put" --help >stored 2>errors
check 'help is no failure' [ $? -eq 0 ]
check 'and goes to stdout' grep -q -- '--socket PATH FILE REFERENCE' stored
"$put" --socket "$directory/none" large large >stored 2>errors
check 'a socket that is missing fails' [ $? -eq 1 ]
check 'and is said' says "There is no socket $directory/none"
ended=$directory/ended.socket
: >"$ended"
"$put" --socket "$ended" large large >stored 2>errors
check 'a socket that nobody listens on fails' [ $? -eq 1 ]
check 'and is said, too' says "No service answers at $ended"

odd=$(printf -- '-a  "b"\n\047c\047 \\d $e %%20 \303\251*.txt')
printf 'odd' >"$odd"
for file in "./$odd" "$directory/$odd"; do
    "$put" "$file" 'o d"d/$(x) '\''%41' --root "$directory/root" >stored 2>errors
    check 'odd names' has --arg path 'o d"d/$(x) '\''%41' '.fullPath == $path and .size == 3'
done

# Larger than can be read before it is paused; it has no bytes on the disk.
truncate -s 8G huge
for signal in INT TERM; do
    for run in first second; do
        begin "$put" huge "huge/$signal" --root "$directory/root"
        check "the $run makes progress" eventually grep -q % errors
        kill -s "$signal" "$upload"
        wait "$upload"
        status=$?
        check "the $run upload that gets $signal fails" [ "$status" -gt 128 ]
        check 'and says how it continues' says 'paused; the same command resumes the upload$'
        one uploadTask/list '{}' >stored
        check 'and is one upload, paused' is_paused "huge/$signal"
    done
done
for size in 30 40; do
    truncate -s "${size}M" resumed
    begin "$put" resumed resumed --root "$directory/root"
    eventually grep -q % errors
    kill -s INT "$upload"
    wait "$upload"
done
"$put" resumed resumed --root "$directory/root" >stored 2>errors
check 'a repeated upload is that of the present file' has '.size == 41943040'

check 'no process is left behind' eventually nobody_has root

# A path that socat would read as options.
socket="$directory/a,b:c d\"!.socket"
: >log
"$STORAGE_RPC" serve --socket "$socket" --root "$directory/served" --log-level info 2>log &
service=$!
check 'the service listens' eventually grep -q 'listens on' log
for tool in socat nc; do
    mkdir "$tool"
    for program in "$tool" cksum jq mktemp mkfifo rm sed; do ln -s "$(command -v $program)" "$tool/$program" 2>/dev/null; done
    if [ ! -x "$tool/$tool" ]; then
        printf 'skipped: the socket with %s, which is not there\n' "$tool"
        continue
    fi
    PATH=$directory/$tool "$put" --socket "$socket" large "by/$tool" >stored 2>errors
    check "an upload over a socket with $tool" has --arg path "by/$tool" '.fullPath == $path and .size == 8000000'
    check "progress with $tool" says '^100 %$'
    PATH=$directory/$tool "$put" --socket "$socket" missing missing >stored 2>errors
    check "a failure with $tool" says 'unknown (-13000)'
    begin PATH="$directory/$tool" "$put" --socket "$socket" huge "huge/$tool"
    check "it makes progress with $tool" eventually grep -q % errors
    kill -s INT "$upload"
    wait "$upload"
    printf '{"jsonrpc":"2.0","id":1,"method":"uploadTask/list"}\n' >list
    ln -sf "$socket" link
    if [ "$tool" = nc ]; then nc -N -U link <list; else socat -t 60 - UNIX-CONNECT:link <list; fi >stored
    check "a pause with $tool" is_paused "huge/$tool"
done

kill "$service"
wait "$service"
service=
"$put" --shared large shared --root "$directory/common" --idle-timeout 1 >stored 2>errors
check 'an upload through the shared service' has '.fullPath == "shared"'
check 'which ends when nobody is connected' eventually nobody_has common

[ "$failures" -eq 0 ]

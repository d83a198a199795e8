// The completions of shells: each calls the program, which knows the commands, the flags and the stored names.

extension Help {
    static let shells = ["bash", "zsh", "fish"]

    /// Nil for an unsupported shell.
    static func completions(_ shell: String) -> String? {
        switch shell {
        case "bash": bash
        case "zsh": zsh
        case "fish": fish
        default: nil
        }
    }

    /// The program quotes candidates for the line. A candidate that can be extended is followed by no space.
    private static let bash = #"""
        _storage_rpc() {
            mapfile -t COMPREPLY < <("${1/#\~/$HOME}" complete bash "$1" "${COMP_LINE:0:COMP_POINT}" \
                "$COMP_WORDBREAKS" 2> /dev/null)
            [[ ${COMPREPLY[0]-} == *[/=] ]] && compopt -o nospace
            return 0
        }
        complete -F _storage_rpc storage-rpc
        """#

    private static let zsh = #"""
        #compdef storage-rpc
        _storage_rpc() {
            local program=${(Q)words[1]} line
            local -a ended open ended_shown open_shown
            [[ $PREFIX == \~* ]] && { _files; return }
            while IFS= read -r line; do
                local name=${line%%$'\t'*} note=
                [[ $line == *$'\t'* ]] && note="  -- ${line#*$'\t'}"
                if [[ $name == *[/=] ]]; then
                    open+=("$name") open_shown+=("$name$note")
                else
                    ended+=("$name") ended_shown+=("$name$note")
                fi
            done < <(${~program} complete zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)
            local result=1
            (( $#open )) && compadd -l -S '' -d open_shown -a open && result=0
            (( $#ended )) && compadd -l -d ended_shown -a ended && result=0
            return $result
        }
        if [[ ${funcstack[1]-} == _storage-rpc ]]; then _storage_rpc "$@"; else compdef _storage_rpc storage-rpc; fi
        """#

    private static let fish = #"""
        function __storage_rpc_candidates
            set -l words (commandline -opc)
            set -l current (commandline -ct | string unescape)
            if string match -q '~*' -- "$current"
                __fish_complete_path "$current"
            else
                $words[1] complete fish -- $words[2..] "$current" 2> /dev/null
            end
        end
        complete -c storage-rpc -f -a '(__storage_rpc_candidates)'
        """#
}

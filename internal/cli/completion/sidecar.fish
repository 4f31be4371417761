# fish completion for sidecar; sidecar completion fish prints it.

function __sidecar_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] __candidates -- $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end

complete -c sidecar -f -a '(__sidecar_candidates)'

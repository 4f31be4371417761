# bash completion for sidecar; sidecar completion bash prints it.

_sidecar() {
	local word=${COMP_WORDS[COMP_CWORD]} line
	COMPREPLY=()
	while IFS= read -r line; do
		line=${line%%$'\t'*} # what stands behind a tab explains it
		[[ $line == "$word"* ]] && COMPREPLY+=("$line")
	done < <("${COMP_WORDS[0]}" __candidates -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	if ((${#COMPREPLY[@]} > 0)); then
		compopt +o default 2>/dev/null # else names of files
	fi
}

complete -o default -F _sidecar sidecar

#compdef sidecar
# zsh completion for sidecar; sidecar completion zsh prints it.

_sidecar() {
	local -a candidates
	local line
	while IFS= read -r line; do
		candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") # what stands behind a tab explains it
	done < <("${words[1]}" __candidates -- "${(@)words[2,CURRENT]}" 2>/dev/null)
	if ((${#candidates} > 0)); then
		_describe sidecar candidates
	else
		_files
	fi
}

if [ "$funcstack[1]" = "_sidecar" ]; then
	_sidecar "$@"
else
	compdef _sidecar sidecar
fi

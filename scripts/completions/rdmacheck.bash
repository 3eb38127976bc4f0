# Completion of rdmacheck for bash. The command itself knows what fits (report/cli/complete.h).
_rdmacheck() {
  # Bash divides words at = and : too; the command wants them whole.
  local line=${COMP_LINE:0:COMP_POINT} words answer last cur kept
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=("")
  cur=${words[${#words[@]} - 1]}
  mapfile -t answer < <("${words[0]}" complete "${words[@]:1}" 2>/dev/null)
  [ ${#answer[@]} -gt 0 ] || return
  last=${answer[${#answer[@]} - 1]}
  unset 'answer[${#answer[@]} - 1]'
  [[ $last != :command* ]] || { _rdmacheck_command $((${last#:command } + 1)); return; }

  # What stands before the last = or : is no part of what bash replaces.
  kept=${cur%"${cur##*[=:]}"}
  COMPREPLY=("${answer[@]%%$'\t'*}")
  [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
  COMPREPLY=("${COMPREPLY[@]#"$kept"}")
  case $last in
    :file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "${cur#"$kept"}") ;;
    :folder) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "${cur#"$kept"}") ;;
  esac
}

# A program and its arguments, from a word on: as they are completed by themselves, where bash-completion is loaded.
_rdmacheck_command() { # WORD
  local at=$1 word=${words[$1]}
  while [ "$at" -lt "$COMP_CWORD" ] && [ "${COMP_WORDS[at]}" != "$word" ]; do
    at=$((at + 1))
  done
  if declare -F _command_offset >/dev/null; then
    _command_offset "$at"
    return
  fi
  compopt -o filenames
  if [ "$at" -eq "$COMP_CWORD" ]; then
    mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -d -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -F _rdmacheck rdmacheck

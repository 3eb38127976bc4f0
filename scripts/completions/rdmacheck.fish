# Completion of rdmacheck for fish. The command itself knows what fits (report/cli/complete.h).
function __rdmacheck_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l command $words[1]
    set -e words[1]
    set -l answer ($command complete $words "$typed" 2>/dev/null)
    set -l last $answer[-1]
    set -e answer[-1]
    printf '%s\n' $answer
    # What stands before a value in the same word, as --json=.
    set -l lead (string match -r '^.*=' -- "$typed")
    set -l value (string replace -r '^.*=' '' -- "$typed")
    switch "$last"
        case :file
            printf '%s\n' "$lead"(__fish_complete_path $value)
        case :folder
            printf '%s\n' "$lead"(__fish_complete_directories $value)
        case ':command *'
            set -l at (math (string replace ':command ' '' -- $last) + 1)
            set -l program
            test $at -le (count $words); and set program (string escape -- $words[$at..-1])
            complete -C "$(string join ' ' -- $program $typed)"
    end
end
complete -c rdmacheck -f -a '(__rdmacheck_complete)'

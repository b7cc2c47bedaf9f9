# Completion of hdsc for bash.

_hdsc() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} option=
    COMPREPLY=()
    # Bash splits --option=value into three words.
    if [[ $word == '=' ]]; then
        option=$previous word=
    elif [[ $previous == '=' ]]; then
        option=${COMP_WORDS[COMP_CWORD-2]}
    fi
    case ${option:-$previous} in
        --gpu) COMPREPLY=($(compgen -W "native $(hdsc --list=gpus 2>/dev/null)" -- "$word")); return ;;
        --arch) COMPREPLY=($(compgen -W "native $(hdsc --list=archs 2>/dev/null)" -- "$word")); return ;;
        --emit) COMPREPLY=($(compgen -W "$(hdsc --list=kinds 2>/dev/null)" -- "$word")); return ;;
        --dump) COMPREPLY=($(compgen -W "all tokens ast hir plan cu $(hdsc --list=passes 2>/dev/null)" -- "$word")); return ;;
        --passes) COMPREPLY=($(compgen -W "$(hdsc --list=passes 2>/dev/null)" -- "$word")); return ;;
        --diagnostics) COMPREPLY=($(compgen -W "text json" -- "$word")); return ;;
        --color) COMPREPLY=($(compgen -W "auto always never" -- "$word")); return ;;
        --layout) [[ ${COMP_WORDS[1]} == mapping ]] || COMPREPLY=($(compgen -W "auto keep last" -- "$word")); return ;;
        --precision) COMPREPLY=($(compgen -W "f16 bf16 tf32" -- "$word")); return ;;
        --rewrites) COMPREPLY=($(compgen -W "none" -- "$word") $(compgen -f -X '!*.hds' -- "$word") $(compgen -d -S / -- "$word")); return ;;
        --weights) COMPREPLY=($(compgen -W "random" -- "$word") $(compgen -f -X '!*.@(safetensors|json)' -- "$word") $(compgen -d -S / -- "$word")); return ;;
        --stdlib | --cache-dir | -I) COMPREPLY=($(compgen -d -- "$word")); return ;;
        --device) COMPREPLY=($(compgen -W "sim cuda" -- "$word")); return ;;
        --level) COMPREPLY=($(compgen -W "hir low $(hdsc --list=passes 2>/dev/null)" -- "$word")); return ;;
        --nvrtc | --shapes | --check | --bench | --tuned | --time-trace | --junit | --header | --manifest | -h | -MF | -o) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --cc) COMPREPLY=($(compgen -c -- "$word")); return ;;
        --prefix | --jobs | -MT | -MQ | --entry | --error-limit | --step-budget | --nvrtc-option | --limit | --deadline | --seed | --seeds | --schedule | --budget | --gpu-timeout | --rtol | --atol | --expect | --trace | --break | --print | --arg | --outputs | -D | -k | -j) return ;;
    esac
    case ${COMP_WORDS[1]} in
        explain)
            COMPREPLY=($(compgen -W "--list $(hdsc --list=codes 2>/dev/null)" -- "$word"))
            return ;;
        cache)
            if [[ ${COMP_WORDS[2]-} != why || $COMP_CWORD -eq 2 ]]; then
                COMPREPLY=($(compgen -W "ls why verify gc clear where --cache-dir= --json --limit= --remove --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            fi ;;
        mapping)
            COMPREPLY=($(compgen -W "--layout --bytes --table -o --help" -- "$word"))
            return ;;
        report)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "--entry= -D -I --weights= --precision= --arch= --gpu= --sms= --data= --json --seed= -j --budget= --verify-ir --step-budget= --diagnostics=
                    --color= -W --stdlib= --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            elif [[ $word == *@* ]]; then
                COMPREPLY=($(compgen -f -- "${word##*[@:]}"))
                return
            fi ;;
        graph)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "--print=graph --print=rewritten --print=program --print=json --print=dot --print=svg --print=html --passes= --explain-fusion --bench= -o --trace-rewrites --list-rewrites
                    --arch= --gpu= --sms= --rewrites= --rewrite= --layout= --precision= -D -I --weights= --stdlib= --diagnostics= --color= --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            fi ;;
        diff)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "--json -D -I --stdlib= --diagnostics= --color= -W --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            fi ;;
        ops)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "--json --given= --markdown --folder -I --stdlib= --diagnostics= --color= -W --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            fi ;;
        onnx)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "--markdown --stdlib= --diagnostics= --color= -W --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            fi ;;
        run)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "--entry= -D -I --weights= --rewrites= --rewrite= --layout= --precision= --tuned= --arch= --gpu= --sms= --device= --expect= --rtol= --atol= --profile --profile=json -v
                    --seed= --schedule= -j --budget= --gpu-timeout= --trap-nan --contract --plan --no-races --no-checks --trace= --break= --print= --level=
                    --print-ir --print-bytecode --verify-ir --step-budget= --no-cache --cache-dir= --diagnostics= --color= -W --stdlib= --nvrtc=
                    --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            elif [[ $word == *@* || $word == *out:* ]]; then
                COMPREPLY=($(compgen -f -- "${word##*[@:]}"))
                return
            fi ;;
        test)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "-k -j -x -v --list --device= --seed= --budget= --gpu-timeout= --trap-nan --contract --level= --verify-ir --junit= -D --weights= -I -W --arch= --gpu= --sms= --stdlib=
                    --step-budget= --no-cache --cache-dir= --nvrtc= --diagnostics= --color= --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            fi ;;
        prove)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "--against= --entry= --arg= --outputs= --seeds= --seed= --budget= --level= --verify-ir -D -I -W --arch= --gpu= --sms= --stdlib=
                    --step-budget= --diagnostics= --color= --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            fi ;;
        bench)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "--entry= -D -I --arch= --gpu= --sms= --seed= --method= --graph --samples= --min-time= --warm-up= --gpu-timeout= --bytes=
                    --flops= --peak= --yardstick= --json= --compare --fail-below= --device= --against= --python= --weights= --rewrites= --rewrite= --layout= --precision= --tuned= --diagnostics= --color= -W --nvrtc= --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            fi ;;
        tune)
            if [[ $word == -* ]]; then
                COMPREPLY=($(compgen -W "--space= --candidates= --shapes= --again --deadline= --device= --entry= --weights= --rewrites= --rewrite= --layout= --precision= -D -I --arch= --gpu= --sms= --seed= --method= --graph --samples= --min-time= --warm-up=
                    --gpu-timeout= -j -o --check= -v --diagnostics= --color= -W --nvrtc= --help" -- "$word"))
                [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
                return
            fi ;;
        help)
            COMPREPLY=($(compgen -W "check run test prove bench tune mapping ops graph report diff onnx cache explain version" -- "$word"))
            return ;;
        version)
            COMPREPLY=($(compgen -W "--nvrtc=" -- "$word"))
            return ;;
    esac
    case $word in
        -W*)
            local groups
            groups=$(hdsc --list=warnings 2>/dev/null)
            COMPREPLY=($(compgen -P -W -W "error $groups $(printf 'no-%s ' $groups)" -- "${word#-W}"))
            return ;;
        -*)
            COMPREPLY=($(compgen -W "-o -h --header= --emit= --arch= --gpu= --sms= --prefix= --entry= -D -I --weights= --embed-weights --rewrites= --rewrite= --layout= --precision= --tuned= -j --jobs= -M -MD -MF -MT -MQ -MP
                --manifest= --cc= --diagnostics= --color= -W -Werror --error-limit=
                --verbose -v --resource-usage --lineinfo -G --time-report --time-trace= --nvrtc= --nvrtc-option= --no-cache --cache-dir= --no-line
                --dump= --passes= --verify-ir --step-budget= --stdlib= --help --usage --version" -- "$word"))
            [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
            return ;;
    esac
    COMPREPLY=($(compgen -f -X '!*.@(hds|hir|onnx|onnxtxt)' -- "$word") $(compgen -d -S / -- "$word"))
    [[ $COMP_CWORD -eq 1 ]] && COMPREPLY+=($(compgen -W "check run test prove bench tune mapping ops graph report diff onnx cache explain version help" -- "$word"))
    [[ ${COMPREPLY[0]-} == */ ]] && compopt -o nospace
}
complete -F _hdsc hdsc

#compdef hdsc
# Completion of hdsc for zsh.

_hdsc_list() {
    local -a words
    words=(${(f)"$(hdsc --list=$1 2>/dev/null)"} ${@:2})
    compadd -a words
}

local -a options
options=(
    '-o[write to FILE]:file:_files'
    '--emit=[what to make]:kind:_hdsc_list kinds'
    '--arch=[architectures]:architecture:_hdsc_list archs native'
    '*--entry=[compile this kernel only]:name:'
    '*-D[set a constant or type parameter]:NAME=VALUE:'
    '*-I[folder of modules]:folder:_files -/'
    '--diagnostics=[format of messages]:format:(text json)'
    '--color=[colours]:when:(auto always never)'
    '*-W-[warning groups]:group:_hdsc_list warnings error'
    '--error-limit=[stop after N errors]:N:'
    '(-v --verbose)'{-v,--verbose}'[say what is used]'
    '--resource-usage[registers, spills, shared memory, occupancy]'
    '--lineinfo[keep source lines]'
    '-G[compile for the debugger]'
    '--time-report[time of each stage]'
    '--time-trace=[the same as a trace]:file:_files'
    '--nvrtc=[the NVRTC library]:file:_files'
    '*--nvrtc-option=[option for NVRTC]:option:'
    '--no-line[no #line directives]'
    '--dump=[print a stage]:stage:_hdsc_list passes all tokens ast hir cu'
    '--passes=[run these passes only]:passes:_hdsc_list passes'
    '--verify-ir[check the IR after each pass]'
    '--step-budget=[steps of evaluation]:N:'
    '--stdlib=[folder of the standard library]:folder:_files -/'
    '--help[help]'
    '--usage[short usage]'
    '--version[version]'
)

case ${words[2]} in
    explain) _arguments '2:message:_hdsc_list codes --list' ;;
    mapping) _arguments '--layout=[layout]:expression:' '--bytes=[element size]:N:(1 2 4 8 16)' '--table[list tasks]' \
        '-o[SVG file]:file:_files' ;;
    version) _arguments '--nvrtc=[the NVRTC library]:file:_files' ;;
    help) _arguments '2:command:(check mapping explain version)' ;;
    *) _arguments $options '1: : _alternative "commands:command:(check mapping explain version help)" "files:file:_files -g \"*.(hds|hir)\""' \
        '*:file:_files -g "*.(hds|hir)"' ;;
esac

#compdef hdsc
# Completion of hdsc for zsh.

_hdsc_list() {
    local -a words
    words=(${(f)"$(hdsc --list=$1 2>/dev/null)"} ${@:2})
    compadd -a words
}

local -a messages gpus compiler device_compiler rewriting
messages=(
    '--diagnostics=[format of messages]:format:(text json)'
    '--color=[colours]:when:(auto always never)'
    '*-W-[warning groups]:group:_hdsc_list warnings error'
)
gpus=(
    '--arch=[architectures]:architecture:_hdsc_list archs native'
    '--gpu=[GPUs that schedules are chosen for]:GPU:_hdsc_list gpus native'
    '--sms=[SMs that schedules are chosen for]:N:'
)
compiler=(
    '--stdlib=[folder of the standard library]:folder:_files -/'
    '--step-budget=[steps of evaluation]:N:'
    '--verify-ir[check the IR after each pass]'
)
device_compiler=(
    '--nvrtc=[the NVRTC library]:file:_files'
    '--no-cache[ask NVRTC again]'
    '--cache-dir=[folder of the cache]:folder:_files -/'
)
rewriting=(
    '--tuned=[a table of hdsc tune]:file:_files -g "*.hds"'
    '--rewrites=[rewrites of graphs]:file:_files -g "*.hds"'
    '*--rewrite=[switch a rewrite on, or off with -]:name:'
    '--layout=[order of axes of images]:order:(auto keep last)'
    '--precision=[what models compute in]:precision:(f16 bf16 tf32)'
)

local -a options
options=(
    '-o[write to FILE]:file:_files'
    '(-h --header)'{-h,--header=}'[write the C header to FILE]:file:_files'
    '--emit=[what to make]:kind:_hdsc_list kinds'
    '--prefix=[before the names of functions in C]:name:'
    '--embed-weights[put weights into the library]'
    '(-j --jobs)'{-j,--jobs=}'[compile N inputs at a time]:N:'
    '-M[print a rule for make]' '-MD[write a rule for make beside the output]' '-MF[write a rule for make]:file:_files'
    '*-MT[target of the rule]:target:' '*-MQ[target of the rule, escaped]:target:' '-MP[rules for imported files]'
    '--manifest=[say what was made, as JSON]:file:_files'
    '--cc=[the C compiler]:command:_command_names'
    '--arch=[architectures]:architecture:_hdsc_list archs native'
    '--gpu=[GPUs that schedules are chosen for]:GPU:_hdsc_list gpus native'
    '--sms=[SMs that schedules are chosen for]:N:'
    '*--entry=[compile this kernel only]:name:'
    '*-D[set a constant or type parameter]:NAME=VALUE:'
    '*-I[folder of modules]:folder:_files -/'
    '--rewrites=[rewrites of graphs]:file:_files -g "*.hds"'
    '*--rewrite=[switch a rewrite on, or off with -]:name:'
    '--layout=[order of axes of images]:order:(auto keep last)'
    '--precision=[what models compute in]:precision:(f16 bf16 tf32)'
    '--tuned=[a table of hdsc tune]:file:_files -g "*.hds"'
    '--weights=[weights of models]:file:_files -g "*.(safetensors|json)"'
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
    '--no-cache[ask NVRTC again]'
    '--cache-dir=[folder of the cache]:folder:_files -/'
    '--no-line[no #line directives]'
    '--dump=[print a stage]:stage:_hdsc_list passes all tokens ast hir plan cu'
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
    run) _arguments $messages $gpus $compiler $device_compiler $rewriting '--entry=[kernel or host function]:name:' '--weights=[weights of models]:file:_files' '--device=[where it runs]:device:(sim cuda)' \
        '*--expect=[compare a tensor]:NAME=@FILE:' '--rtol=[relative tolerance]:X:' '--atol=[absolute tolerance]:X:' \
        '--profile=-[count by source line]::format:(text json)' '-v[say what ran]' '--seed=[of random inputs]:N:' \
        '--schedule=[order of warps and blocks]:N:' '-j[threads]:N:' '--budget=[most warp instructions]:N:' '--gpu-timeout=[most seconds of a kernel]:N:' \
        '--trap-nan[where NaN comes from]' '--contract[fuse products and sums]' '--plan[host functions by their launch plans]' '--no-races[no data races]' '--no-checks[no checks]' \
        '--trace=[print what a thread does]:block=B thread=T:' '*--break=[print variables at a line]:FILE\:LINE:' \
        '*--print=[these variables]:names:' '--level=[IR that is run]:level:_hdsc_list passes hir low' \
        '--print-ir[print the IR]' '--print-bytecode[print the bytecode]' '*-D[set a constant or size]:NAME=VALUE:' \
        '*-I[folder of modules]:folder:_files -/' '*:file or NAME=SPEC:_files' ;;
    test) _arguments $messages $gpus $compiler $device_compiler '*-k[tests whose name contains this]:text:' '-j[this many at a time]:N:' '-x[stop at a failure]' \
        '--list[list the tests]' '--weights=[weights of models]:file:_files' '--device=[where kernels run]:device:(sim cuda)' '--seed=[order of warps and blocks]:N:' '--trap-nan[where NaN comes from]' '--contract[fuse products and sums]' '--budget=[most warp instructions]:N:' \
        '--gpu-timeout=[most seconds of a kernel]:N:' \
        '--level=[IR that is run]:level:_hdsc_list passes hir low' '--junit=[JUnit XML]:file:_files' '-v[a line for each]' \
        '*-D[set a constant]:NAME=VALUE:' '*-I[folder of modules]:folder:_files -/' '*:file:_files -g "*.hds"' ;;
    prove) _arguments $messages $gpus $compiler '--against=[what says what is right]:file:_files -g "*.hds"' '--entry=[entry of the file]:name:' \
        '*--arg=[value of a parameter]:NAME=VALUE:' '--outputs=[tensors to compare]:names:' \
        '--seeds=[sets of random inputs]:N:' '--seed=[the first of them]:N:' '--budget=[most warp instructions]:N:' \
        '--level=[IR that is run]:level:_hdsc_list passes hir low' '*-D[set a constant or size]:NAME=VALUE:' \
        '*-I[folder of modules]:folder:_files -/' '*:file:_files -g "*.hds"' ;;
    cache) _arguments '2:what to do:(ls why verify gc clear where)' '--cache-dir=[folder of the cache]:folder:_files -/' \
        '--json[ls as JSON]' '--limit=[size for gc]:size:' '--remove[remove what is damaged]' '*:file:_files -g "*.hds"' ;;
    bench) _arguments $messages $gpus $rewriting '--weights=[weights of models]:file:_files' '--device=[measure or count]:device:(cuda sim)' \
        '--nvrtc=[the NVRTC library]:file:_files' '--entry=[kernel of the file]:name:' '--method=[how]:method:(rotate flush)' '--graph[in CUDA graphs]' \
        '--samples=[least number]:N:' '--min-time=[least seconds of a row]:X:' '--warm-up=[seconds before]:X:' '--gpu-timeout=[most seconds of a sample]:N:' \
        '--bytes=[that it moves]:expression:' '--flops=[that it does]:expression:' '--peak=[type of the peak rate]:type:' \
        '--yardstick=[what runs beside]:name:(copy none)' '--json=[write all results]:file:_files' \
        '--against=[other programs]:list:(onnxruntime torch)' '--python=[that has them]:file:_files' \
        '--compare[compare two results]' '--fail-below=[least ratio]:X:' '--seed=[of random inputs]:N:' \
        '*-D[set a constant or size]:NAME=VALUE:' '*-I[folder of modules]:folder:_files -/' '*:file or NAME=SPEC:_files' ;;
    tune) _arguments $messages $gpus $rewriting '--weights=[weights of models]:file:_files' '--entry=[graph function]:name:' '--deadline=[begin no round after]:SECONDS:' '--device=[measure or estimate]:device:(cuda sim)' \
        '--nvrtc=[the NVRTC library]:file:_files' '--space=[how much]:space:(0 1 2)' '--candidates=[that space 1 measures]:N:' '--shapes=[sets of sizes]:file:_files' \
        '--again[also what the table has]' '--method=[how]:method:(flush rotate)' '--graph[in CUDA graphs]' '--samples=[least number]:N:' \
        '--min-time=[least seconds of a set of sizes]:X:' '--warm-up=[seconds before]:X:' '--gpu-timeout=[most seconds of a sample]:N:' \
        '-j[compile N candidates at a time]:N:' '-o[the table]:file:_files -g "*.hds"' '--check=[check a table]:file:_files -g "*.hds"' \
        '-v[show each candidate]' '--seed=[of random inputs]:N:' '*-D[set a constant]:NAME=VALUE:' \
        '*-I[folder of modules]:folder:_files -/' '*:file or NAME=VALUE:_files' ;;
    mapping) _arguments '--layout=[layout]:expression:' '--bytes=[element size]:N:(1 2 4 8 16)' '--table[list tasks]' \
        '-o[SVG file]:file:_files' ;;
    ops) _arguments $messages '--stdlib=[folder of the standard library]:folder:_files -/' '--json[all that is known, for tools]' '*--given=[an operand or an attribute]:NAME=VALUE:' '--markdown[a reference page]' '--folder[of the operators that come with hdsc]' \
        '*-I[folder of modules]:folder:_files -/' '*:file, folder or name:_files' ;;
    version) _arguments '--nvrtc=[the NVRTC library]:file:_files' ;;
    graph) _arguments $messages $gpus $rewriting '--stdlib=[folder of the standard library]:folder:_files -/' '--weights=[the weights]:file:_files' \
        '--passes=[run these passes only]:passes:' '--explain-fusion[why edges are fused or not]' '--bench=[a result of hdsc bench]:file:_files' '--trace-rewrites[what is applied]' \
        '--list-rewrites[what would be applied]' '*-I[folder of modules]:folder:_files -/' '--print=[the form]:form:(graph rewritten program json dot svg html)' '-o[write to]:file:_files' '*-D[set a constant or size]:NAME=VALUE:' \
        '2:file:_files -g "*.(hds|json)"' ;;
    report) _arguments $messages $gpus $compiler '--entry=[graph function of the file]:name:' '*-D[set a constant or size]:NAME=VALUE:' \
        '*-I[folder of modules]:folder:_files -/' '--weights=[the weights]:file:_files' '--json[JSON instead of a table]' '--data=[a folder of test data]:folder:_files -/' \
        '--precision=[what the model computes in]:precision:(f16 bf16 tf32)' \
        '--seed=[of random inputs]:N:' '-j[simulator threads]:N:' '--budget=[most warp instructions]:N:' \
        '2:file:_files -g "*.hds"' '*:NAME=SPEC:' ;;
    diff) _arguments $messages '--stdlib=[folder of the standard library]:folder:_files -/' '--json[JSON instead of text]' \
        '*-I[folder of modules]:folder:_files -/' '*-D[set a constant or size]:NAME=VALUE:' '*:file:_files -g "*.(hds|onnx|onnxtxt|json)"' ;;
    onnx) _arguments $messages '--stdlib=[folder of the standard library]:folder:_files -/' '--markdown[a table]' \
        '1:what:(ops)' '*:operator:' ;;
    help) _arguments '2:command:(check run test prove bench tune mapping ops graph report diff onnx cache explain version)' ;;
    *) _arguments $options '1: : _alternative "commands:command:(check run test prove bench tune mapping ops graph report diff onnx cache explain version help)" "files:file:_files -g \"*.(hds|hir|onnx)\""' \
        '*:file:_files -g "*.(hds|hir|onnx)"' ;;
esac

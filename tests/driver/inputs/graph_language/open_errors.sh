# open_errors.sh HDSC: what needs the value of a size that is open, with what hdsc says of it.
while read -r line; do
    printf 'from hidet.lang import f32\n\n\n@hidet.graph\ndef g[B: int, C: int](x: f32[B, 6], y: f32[C, 6]):\n' > mistake.hds
    printf '    %s\n    return x\n' "$line" >> mistake.hds
    echo "== $line"
    "$1" graph mistake.hds 2>&1 | grep -v '^ '
done << 'MISTAKES'
y = x.reshape(4, -1)
y = x.reshape(C, 6)
y = x[::2]
y = x if B > 3 else y
for i in range(C): x = x + 1
if B: x = x + 1
while C > 2: x = x + 1
MISTAKES

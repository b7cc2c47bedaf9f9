# errors.sh HDSC: each mistake in a function that a graph function calls, with what hdsc says of it.
while read -r line; do
    printf 'from hidet.lang import f16, f32, i32, i8, u8\nfrom layout import concat\nfrom matmul import linear\n\n\ndef f(x, y, k):\n    %s\n    return x\n' "$line" > mistake.hds
    printf '\n\n@hidet.graph\ndef g(x: f32[4, 6], y: f32[5, 6], k: i32[3]):\n    return f(x, y, k)\n' >> mistake.hds
    echo "== $line"
    "$1" graph mistake.hds 2>&1 | grep -v '^ '
    "$1" graph mistake.hds 2>&1 | grep 'note:'
done << 'MISTAKES'
x[0] = x[1]
x[0:1] += 1
for row in x: pass
a, b = x
n = int(x)
n = float(x)
print(x)
y = x + y
y = x @ y
y = linear(x, k)
y = concat(x, y, dim=1)
y = x.reshape(5, -1)
y = x.reshape(-1, -1)
y = x[7]
y = x[0, 0, 0]
y = x[x > 0]
y = x[[0, 1]]
y = x + None
y = x if x > 0 else y
y = 1.5 * k
y = k * 3000000000
y = 200 - k.to(i8)
y = k.to(u8) >= -1
y = x.to(f16) + 1e5
y = x + k
y = x.flatten(1, 0)
y = x @ 2
y = x.unsqueeze(4)
y = x.sum(2)
b = x in [y]
b = 1.0 in x
MISTAKES

# The quick start's tensors, operators and graphs.
import hidet

a = hidet.randn([2, 3], device='cuda')
print(a)
b = hidet.randn([3, 2], device='cuda')
c = hidet.randn([2], device='cuda')
d = hidet.ops.matmul(a, b)
d = d + c  # 'd + c' is equivalent to 'hidet.ops.add(d, c)'
print(d)


def linear_bias(x, b, c):
    return hidet.ops.matmul(x, b) + c


x = hidet.symbol_like(a)
y = linear_bias(x, b, c)

assert x.trace is None
assert y.trace is not None

print('x:', x)
print('y:', y)

graph: hidet.FlowGraph = hidet.trace_from(y)
print(graph)

opt_graph: hidet.FlowGraph = hidet.graph.optimize(graph)
print(opt_graph)

y1 = opt_graph(a)
print(y1)

cuda_graph = opt_graph.cuda_graph()
outputs = cuda_graph.run([a])
y2 = outputs[0]
print(y2)

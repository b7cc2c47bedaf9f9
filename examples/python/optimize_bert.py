"""Seven steps through what becomes of an encoder such as BERT: rewrites, weights, partitions, kernels and a picture.

    python examples/python/optimize_bert.py [FOLDER]    pictures and the program of the model are written there

It needs PyTorch. On a machine with a GPU the model runs on it, elsewhere on the simulator, where kernels can be counted and
results compared, and times say nothing. docs/python.md describes what is used here.
"""

import functools
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch

import hidet
from hidet.graph import PassContext, SubgraphRewriteRule

HERE = pathlib.Path(__file__).resolve().parent
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WORDS, LENGTH, WIDTH, HEADS, LAYERS = 50, 8, 32, 2, 1

nn, aten = torch.nn, torch.ops.aten


# ---- the model ------------------------------------------------------------------------------------------------------------


class Layer(nn.Module):
    """Attention and a feed-forward network, each with a residual and a norm behind it."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.merge = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.expand, self.activation, self.contract = nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
        x = self.norm1(x + self.merge((scores @ v).transpose(1, 2).flatten(2)))
        return self.norm2(x + self.contract(self.activation(self.expand(x))))


class Encoder(nn.Module):
    """Layers, and a classifier that reads the first word."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.pooler, self.norm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)
        self.classifier = nn.Linear(WIDTH, 4, bias=False)

    def forward(self, words):
        x = self.pooler(self.layers(self.embedding(words))[:, 0])
        return self.classifier(torch.tanh(self.norm(x))) / 2.0  # a temperature


def swap(module, kind, make):
    """Modules of one kind become others, as in any program for PyTorch; what results is compiled like any other model."""
    for name, child in module.named_children():
        if isinstance(child, kind):
            setattr(module, name, make(child))
        else:
            swap(child, kind, make)
    return module.to(DEVICE).eval()


def model():
    """The same in each step."""
    torch.manual_seed(0)
    return Encoder().to(DEVICE).eval()


# ---- what the steps share -------------------------------------------------------------------------------------------------


def explain(module, words, **options):
    """torch.compile(module, backend="hidet", options=options) at work, and what it made of the module."""
    torch._dynamo.reset()
    return hidet.torch.explain(module, words, options=options)


def count(made):
    """A text: kernels of a run, and those that were done with weights before."""
    return f"{len(made.kernels)} kernels, and {len(made.loaded)} that run once, on weights"


def difference(x, y):
    """The largest one."""
    return f"{(x - y).abs().max().item():.1e}"


def optimized(graph, *without, precision=None):
    """A FlowGraph as it is compiled where these rewrites of the library are left out."""
    with PassContext() as context:
        context.set_precision(precision)
        if without:
            context.disable_rewrites(*without)
        return hidet.graph.optimize(graph)


# ---- steps ----------------------------------------------------------------------------------------------------------------


def compiled(words):
    """By torch.compile, and the graph that PyTorch traced as a FlowGraph, which runs by itself."""
    module = model()
    with torch.no_grad():
        expected = module(words)
        found = torch.compile(module, backend="hidet")(words)
    (part,) = explain(module, words).parts
    graph = part.graph
    again = graph(hidet.from_torch(words)).torch()
    print(f"{len(graph.nodes)} operators of ATen are {count(part)}")
    print(f"difference from PyTorch: {difference(found, expected)}, of the FlowGraph: {difference(again, expected)}")
    return graph


def swapped_gelu(words):
    """By a rule in Python, which sees operators of ATen, and by one in the language, which sees those of the library."""
    gelu = hidet.torch.operation("gelu")
    rule = SubgraphRewriteRule(lambda x: gelu(x), lambda x: gelu(x, approximate="tanh"), name="gelu_by_tanh")
    with torch.no_grad():
        exact, approximate = model()(words), swap(model(), nn.GELU, lambda _: nn.GELU("tanh"))(words)
    for title, rules, names in (
        ("no rule", [], []),
        ("a rule in Python", [rule], []),
        ("a rule in a file", [HERE / "gelu_by_tanh.hds"], ["gelu_by_tanh"]),
    ):
        with PassContext() as context:
            context.add_rewrite_rules(*rules).enable_rewrites(*names)
            explanation = explain(model(), words)
        differences = [difference(explanation.result, y) for y in (exact, approximate)]
        call = next(line.strip() for line in explanation.parts[0].program.splitlines() if " = gelu(" in line)
        print(f"{title}: {call}, difference from GELU {differences[0]}, from its approximation {differences[1]}")


def switched_rewrites(graph):
    """All of the library's rewrites, all but one, and none. quotient_into_matmul divides weights by the temperature, once;
    attention is found behind product_of_heads."""
    for title, made in (
        ("all rewrites", optimized(graph)),
        ("without quotient_into_matmul", optimized(graph, "quotient_into_matmul")),
        ("without product_of_heads", optimized(graph, "product_of_heads")),
        ("none", switched_off(graph)),
    ):
        print(f"{title}: {count(made)}")


def switched_off(graph):
    """disable_rewrites without a name leaves out all."""
    with PassContext() as context:
        context.disable_rewrites()
        return hidet.graph.optimize(graph)


def merged_products(graph):
    """Q, K and V are products of one operand. In f32 one launch computes them side by side; in f16, where attention reads the
    parts in place, their weights become one matrix."""
    name = "three_biased_products"
    for title, made in (
        ("f32", optimized(graph)),
        (f"f16 without {name}", optimized(graph, name, precision="float16")),
        ("f16", optimized(graph, precision="float16")),
    ):
        products = [k for k in made.kernels if "matmul" in k.name]
        joined = sum(k.joined is not None for k in products)
        wide = made.lowered.count(f"prepared0: f16[{WIDTH}, {3 * WIDTH}]") > 0
        print(f"{title}: {len(products)} products, {joined} of them side by side", end="")
        print(f", with weights of {WIDTH} x {3 * WIDTH}" if wide else "")


def folded_norm(words):
    """A layer norm needs the sums of each row. A batch norm, which BERT can be trained with as well, is a factor and a term for
    each column at inference, and goes into the weights of the product before it."""
    with torch.no_grad():
        many = torch.randint(0, WORDS, (256, LENGTH), device=DEVICE)
        module = model()
        batch_norm = nn.BatchNorm1d(WIDTH, momentum=None).to(DEVICE)
        batch_norm(module.pooler(module.layers(module.embedding(many))[:, 0]))  # its moments
        module.norm = batch_norm.eval()
        (before,), explanation = explain(model(), words).parts, explain(module, words)
        (part,) = explanation.parts
        print(f"with a layer norm: {count(before)}, the pooler is {pooler(before)}")
        print(f"with a batch norm: {count(part)}, the pooler is {pooler(part)}")
        print(f"without its rewrite, it is {pooler(optimized(part.graph, 'batch_norm_into_product'))}")
        print(f"difference from PyTorch: {difference(explanation.result, module(words))}")


def pooler(made):
    """Its kernels: those before the last, which is the classifier, back to the last one of the layers."""
    names = [k.name for k in made.kernels[:-1]]
    last = max(i for i, k in enumerate(names) if k == "fused_layer_norm")
    return " + ".join(names[last + 1 :])


@torch.library.custom_op("optimize_bert::gelu", mutates_args=())
def own_gelu(x: torch.Tensor) -> torch.Tensor:
    """An operator with a kernel of one's own, which PyTorch's compiler keeps whole."""
    y = torch.empty_like(x)
    kernel_of(x.numel())(x.reshape(-1), y.view(-1))
    return y


@own_gelu.register_fake
def _(x):
    return torch.empty_like(x)


@functools.cache
def kernel_of(n):
    """GELU of n numbers in Hidet Script."""
    from hidet.lang import attrs, f32
    from hidet.lang.cuda import blockDim, blockIdx, threadIdx
    from hidet.lang.math import erf

    with hidet.script_module() as module:

        @hidet.script
        def launch(x: f32[n], y: f32[n]):
            attrs.cuda.grid_dim = (n + 127) // 128
            attrs.cuda.block_dim = 128
            i = threadIdx.x + blockIdx.x * blockDim.x
            if i < n:
                y[i] = 0.5 * x[i] * (1.0 + erf(x[i] * 0.70710678))

    return module.build()


def partitions(words):
    """What there is no operator for stays with PyTorch, here the operator above; and what can_handle leaves does."""

    class Own(nn.Module):
        def forward(self, x):
            return torch.ops.optimize_bert.gelu(x)

    def can_handle(node):
        return node.target in products or node.target == aten.div.Tensor and isinstance(node.args[1], float)

    products = {aten.mm.default, aten.addmm.default, aten.bmm.default, aten.t.default, aten.view.default}
    with torch.no_grad():
        expected = model()(words)
    for title, module, options in (
        ("an own operator", swap(model(), nn.GELU, lambda _: Own()), {}),
        ("products and quotients by numbers", model(), {"can_handle": can_handle}),
    ):
        explanation = explain(module, words, **options)
        kernels, loaded = (sum(len(getattr(part, name)) for part in explanation.parts) for name in ("kernels", "loaded"))
        print(f"{title}: {len(explanation.parts)} parts with {kernels} kernels, {loaded} that run once", end=", ")
        print(f"difference from PyTorch: {difference(explanation.result, expected)}")
        for target, why in explanation.left:
            print(f"  {target}: {why}")


def profile(graph, folder):
    """The table of `hdsc bench`, kernel by kernel. Times are those of a GPU; the simulator counts instructions and bytes, and its
    column `limit` is what the bytes take at a GPU's bandwidth, no time that was measured."""
    path = folder / "encoder.hds"
    path.write_text(graph.program, encoding="utf-8")
    device = [] if DEVICE == "cuda" else ["--device=sim"]
    command = [sys.executable, "-m", "hidet", "bench", str(path), "--weights=random", *device]
    package = pathlib.Path(hidet.__file__).parent.parent  # found also where it is not installed
    print(subprocess.run(command, cwd=package, check=True, capture_output=True, text=True).stdout.strip())
    if DEVICE == "cuda":
        print(f"a run takes {graph.latency():.3f} ms with the time of Python")


def pictures(graph, folder):
    """Frames are kernels. The page has a search, a table of kernels and the program."""
    can_draw = shutil.which("dot") is not None
    for name in ("encoder.svg", "encoder.html") if can_draw else ("encoder.dot",):
        graph.draw(folder / name)
        print(folder / name)
    if not can_draw:
        print("Graphviz, which draws it, is not installed")


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    words = torch.randint(0, WORDS, (1, LENGTH), device=DEVICE)
    print(f"== The model, on {'a GPU' if DEVICE == 'cuda' else 'the simulator'}")
    graph = compiled(words)
    for title, step, arguments in (
        ("1. GELU by its approximation", swapped_gelu, (words,)),
        ("2. Rewrites on and off", switched_rewrites, (graph,)),
        ("3. Q, K and V", merged_products, (graph,)),
        ("4. A norm in weights", folded_norm, (words,)),
        ("5. Partitions", partitions, (words,)),
        ("6. Profile", profile, (graph, folder)),
        ("7. Pictures", pictures, (graph, folder)),
    ):
        print(f"\n== {title}")
        step(*arguments)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="optimize_bert-")))

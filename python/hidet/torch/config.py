"""Settings of the backend."""

import os


class DynamoConfig:
    """What `hidet.torch.dynamo_config` is. Settings are read when a graph is compiled, at the first run of a model."""

    version = 0  # how often settings were set: state() is made when they were

    def __init__(self):
        self.reset()

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        DynamoConfig.version += 1

    def reset(self):
        """All settings as they are at first."""
        self._space, self._fp16, self._fp16_reduction, self._tensor_core = 0, False, False, True
        self._winograd = True
        self._cuda_graph, self._report, self._print_graph, self._parallel_k = True, False, False, "default"
        self._attention, self._steal_weights, self._dump = True, False, None
        return self

    def state(self):
        """All settings, as a key."""
        return tuple(sorted(vars(self).items()))

    def search_space(self, level=2):
        """0, 1 or 2. Kernels are chosen by the compiler's model of costs in all of them: models that are files are measured by
        `hdsc tune`."""
        if level not in (0, 1, 2):
            raise ValueError(f"search spaces are 0, 1 and 2, not {level!r}")
        self._space = level

    set_search_space = search_space

    def use_fp16(self, flag=True):
        """Products and what reads them compute in float16; inputs and outputs keep their types."""
        self._fp16 = bool(flag)

    def use_fp16_reduction(self, flag=True):
        """Kept, and without effect: sums of float16 are computed in float32 always."""
        self._fp16_reduction = bool(flag)

    def use_tensor_core(self, flag=True):
        """Whether float32 products may use tensor cores, as TF32, where PyTorch's own setting allows it:
        torch.set_float32_matmul_precision("high")."""
        self._tensor_core = bool(flag)

    def use_winograd(self, flag=True):
        """Whether 3 × 3 convolutions of float32 are computed by Winograd's algorithm where that is faster, as PyTorch's are by cuDNN:
        about half the rounding error of direct sums, and an infinity or NaN in an image reaches neighbours of what reads it."""
        self._winograd = bool(flag)

    def use_attention(self, flag=True):
        """Kept, and without effect: attention is recognized wherever a model has it."""
        self._attention = bool(flag)

    def steal_weights(self, flag=True):
        """Kept, and without effect: weights are read where PyTorch has them; what is prepared from them is another copy."""
        self._steal_weights = bool(flag)

    def dump_graph_ir(self, path):
        """Writes each part that is compiled into this folder: its operators, graph.txt, and its program in the language, program.hds.
        None: nothing is written."""
        self._dump = None if path is None else os.fspath(path)

    def use_cuda_graph(self, flag=True):
        """Whether launches are recorded once and repeated."""
        self._cuda_graph = bool(flag)

    def parallel_k(self, strategy="default"):
        """Kept, and without effect: the compiler splits sums by its model of costs."""
        if strategy not in ("default", "disabled", "search") and not isinstance(strategy, int):
            raise ValueError(f"parallel_k takes 'default', 'disabled', 'search' or a number, not {strategy!r}")
        self._parallel_k = strategy

    def correctness_report(self, enabled=True):
        """Each graph is run node by node beside PyTorch at its first run, and a table of the differences is printed."""
        self._report = bool(enabled)

    def print_input_graph(self, flag=True):
        """Prints each graph that PyTorch hands over."""
        self._print_graph = bool(flag)


dynamo_config = DynamoConfig()

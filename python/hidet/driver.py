"""Building what scripts were made into."""


def build_ir_module(ir_module, output_dir=None, *, target=None, output_kind=None, **options):
    """The compiled module of scripts: `build_ir_module(script_module.ir_module())`. [target] is an architecture
    ("cuda --arch=sm_90a" or "sm_90a"). A text that was compiled before is found in memory. The other parameters are those of
    Hidet: nothing is written to [output_dir], since the cache has it."""
    arch = None
    if target and target not in ("cuda", "cpu"):
        arch = str(target).rpartition("=")[2]
    return ir_module.build(arch=arch, **options)

"""Integers in groups: GPTQ by gptqmodel, AWQ by autoawq, and compressed-tensors.

grouped.safetensors has for every case CASE/weight, CASE/scale and CASE/zero (outputs by inputs or groups), and what the
packages make of them: the tensors of a layer, and the values of these.
"""

import contextlib
import math
from types import SimpleNamespace

import numpy as np
import torch
from compressed_tensors.compressors.pack_quantized.base import PackedQuantizationCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from safetensors.torch import save_file

from .source import archived, taken

# Bits, outputs, inputs, the group size, and whether groups are in another order, or scales no numbers of f16. autoawq takes
# outputs by 32 alone.
CASES = [
    (4, 32, 64, 32, ""),
    (4, 32, 96, -1, ""),
    (4, 40, 128, 64, "order"),
    (2, 32, 64, 32, ""),
    (3, 32, 96, 32, ""),
    (3, 64, 64, 32, "order"),
    (8, 12, 64, 16, ""),
    (8, 8, 32, 16, "order"),
    (4, 64, 128, 32, "inexact"),
]

# Bits, outputs, inputs, the group size: compressed-tensors takes any length of a row. It cannot read 4-bit zero points of 8
# outputs or fewer, which are one row of words.
ROWS = [(1, 3, 40, -1), (3, 5, 50, -1), (4, 11, 60, 20), (5, 9, 33, -1), (6, 4, 64, 32), (7, 2, 37, -1), (8, 3, 10, 5)]


def gptq(sdists):
    """A layer of gptqmodel that packs, unpacks, and converts its zero points to those of the first version."""
    path = "gptqmodel/nn_modules/qlinear/__init__.py"
    names = ["pack_original", "dequantize_weight", "_dequantize_from_codes", "_init_wf_unsqueeze_buffers", "_wf_device"]
    limits = SimpleNamespace(threadpool_limits=lambda _: contextlib.nullcontext())
    transformers = SimpleNamespace(pytorch_utils=SimpleNamespace(Conv1D=type("Conv1D", (), {})))
    space = {
        "t": torch, "np": np, "math": math, "nn": torch.nn, "THREADPOOLCTL": limits, "transformers": transformers,
        "_ConvNd": type("ConvNd", (), {}),
    }
    text = archived(sdists, "gptqmodel", path)
    space = taken(text, names, space)
    layer = type("Layer", (torch.nn.Module,), {name: space[name] for name in names})
    model = archived(sdists, "gptqmodel", "gptqmodel/utils/model.py")
    fields = archived(sdists, "gptqmodel", "gptqmodel/utils/model_dequant.py")
    version = {"torch": torch, "BaseQuantLinear": layer, "log": SimpleNamespace(info=SimpleNamespace(once=print))}
    version = taken(fields, ["_revert_gptq_v1_qzeros_correction"], version)
    version = taken(model, ["convert_gptq_v2_to_v1_format_module"], version)
    return layer, version["convert_gptq_v2_to_v1_format_module"]


def gptq_layer(layer, bits, weight, scale, zero, g_idx):
    own = layer()
    own.bits, own.maxq, own.planar = bits, 2**bits - 1, False
    own.pack_dtype, own.pack_dtype_bits, own.pack_factor = torch.int32, 32, 32 // bits
    own.pack_np_dtype, own.pack_np_math_dtype = np.int32, np.uint32
    own.in_features, own.out_features = weight.shape[1], weight.shape[0]
    own.enable_wf_unsqueeze, own.dequant_dtype = True, torch.int16 if bits == 8 else torch.int8
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    linear.weight.data = weight.clone()
    own.bias = None
    own.pack_original(linear, scale, zero.float(), g_idx)
    own.qzero_format = lambda format: None
    return own


def awq(sdists):
    """The functions of autoawq that make a layer, read one, and convert one to the layout of exllama."""
    text = archived(sdists, "autoawq", "awq/modules/linear/gemm.py")
    space = taken(text, ["from_linear"], {"torch": torch, "get_best_device": lambda: "cpu"})
    packing = archived(sdists, "autoawq", "awq/utils/packing_utils.py")
    return space["from_linear"], taken(packing, ["unpack_reorder_pack", "dequantize_gemm"], {"torch": torch})


def awq_layer(from_linear, weight, scale, zero, size):
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    linear.weight.data = weight.clone()

    def empty(bits, group_size, inputs, outputs, bias, device):
        return SimpleNamespace(w_bit=bits, group_size=group_size, in_features=inputs, out_features=outputs)

    # A group's scales are a row here, and weights are divided by columns.
    return from_linear(empty, linear, 4, size, False, scale.T.contiguous(), zero.T.contiguous())


def drawn(random, bits, outputs, inputs, size, kind="", with_nothing=False):
    """Weights around zero points, with values beyond the codes and halfway between them."""
    groups = 1 if size == -1 else inputs // size
    size = inputs if size == -1 else size
    scale = torch.from_numpy((2.0 ** random.integers(-9, 1, (outputs, groups)) * random.uniform(1, 2, (outputs, groups))))
    scale = scale.float() if kind == "inexact" else scale.half().float()
    zero = torch.from_numpy(random.integers(1, 2**bits, (outputs, groups)))
    if with_nothing:
        zero[0, 0] = 0
    g_idx = torch.arange(inputs) // size
    if kind == "order":
        g_idx = g_idx[torch.from_numpy(random.permutation(inputs))]
    codes = torch.from_numpy(random.integers(0, 2**bits, (outputs, inputs)))
    noise = torch.from_numpy(random.uniform(-0.45, 0.45, (outputs, inputs))).float()
    weight = (codes - zero[:, g_idx] + noise) * scale[:, g_idx]
    return weight.float(), scale, zero, g_idx.int()


def compressed(weight, scale, zero, bits, size, symmetric):
    own = {"num_bits": bits, "symmetric": symmetric, "type": "int"}
    own |= {"strategy": "channel"} if size == -1 else {"strategy": "group", "group_size": size}
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**own))
    state = {"weight": weight, "weight_scale": scale}
    if not symmetric:
        state["weight_zero_point"] = (zero - 2 ** (bits - 1)).to(torch.int8)
    packed = PackedQuantizationCompressor.compress(state, scheme)
    return packed, PackedQuantizationCompressor.decompress(dict(packed), scheme)["weight"]


def record(arguments):
    random = np.random.default_rng(23)
    layer, to_first = gptq(arguments.sdists)
    from_linear, packing = awq(arguments.sdists)
    files = {}
    cases, rows = CASES, ROWS
    if arguments.blocks:
        inputs = arguments.blocks // 1024 * 32
        cases = [(bits, 1024, inputs, 32, "") for bits in (2, 3, 4, 8)]
        rows = [(bits, 1024, inputs, 32) for bits in (3, 4, 8)]
    for bits, outputs, inputs, size, kind in cases:
        weight, scale, zero, g_idx = drawn(random, bits, outputs, inputs, size, kind, not arguments.blocks)
        case = f"{bits}x{outputs}x{inputs}x{size}" + (f"x{kind}" if kind else "")
        files |= {f"{case}/weight": weight, f"{case}/scale": scale, f"{case}/zero": zero.to(torch.uint8)}
        own = gptq_layer(layer, bits, weight, scale, zero, g_idx)
        names = ["qweight", "qzeros", "scales", "g_idx"]
        files |= {f"{case}/gptq_v2.{name}": getattr(own, name).clone() for name in names}
        files[f"{case}/gptq.values"] = own.dequantize_weight()
        to_first(own, SimpleNamespace(bits=bits, pack_dtype=torch.int32))
        files[f"{case}/gptq_v1.qzeros"] = own.qzeros.clone()
        if kind == "order":
            continue
        if bits == 4:
            own = awq_layer(from_linear, weight, scale, zero, inputs if size == -1 else size)
            files |= {f"{case}/awq.{name}": getattr(own, name).clone() for name in ["qweight", "qzeros", "scales"]}
            values = packing["dequantize_gemm"](own.qweight, own.qzeros, own.scales, 4, inputs if size == -1 else size)
            files[f"{case}/awq.values"] = values
            qweight, qzeros = packing["unpack_reorder_pack"](own.qweight, own.qzeros, 4)
            files |= {f"{case}/exllama.qweight": qweight, f"{case}/exllama.qzeros": qzeros}
        own = scale if kind == "inexact" else scale.half()
        packed, values = compressed(weight, own, zero, bits, size, False)
        files |= {f"{case}/ct.{name}": tensor for name, tensor in packed.items()}
        files[f"{case}/ct.values"] = values
    for bits, outputs, inputs, size in rows:
        weight, scale, zero, _ = drawn(random, bits, outputs, inputs, size)
        for symmetric in (True, False):
            case = f"row{bits}x{outputs}x{inputs}x{size}" + ("xsym" if symmetric else "")
            own = scale.bfloat16()
            zero = torch.full_like(zero, 2 ** (bits - 1)) if symmetric else zero
            files |= {f"{case}/weight": weight.clone(), f"{case}/scale": own, f"{case}/zero": zero.to(torch.uint8)}
            packed, values = compressed(weight, own, zero, bits, size, symmetric)
            files |= {f"{case}/ct.{name}": tensor.clone() for name, tensor in packed.items()}
            files[f"{case}/ct.values"] = values
    contiguous = {name: tensor.clone().contiguous() for name, tensor in files.items()}
    save_file(contiguous, arguments.to / "grouped.safetensors")

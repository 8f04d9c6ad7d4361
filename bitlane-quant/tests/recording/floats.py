"""4-bit floats: NF4 and FP4 by bitsandbytes, MXFP4 by torchao and compressed-tensors, NVFP4 by compressed-tensors.

floats.safetensors has for every case CASE/input, as f32, and what the packages make of it; CASE/bytes are random words.
"""

import bitsandbytes.functional as bnb
import numpy as np
import torch
from compressed_tensors.compressors.mxfp4.base import MXFP4PackedCompressor
from compressed_tensors.compressors.nvfp4.base import NVFP4PackedCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from safetensors.torch import save_file
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import to_dtype, to_mx

# The shape and the block size.
BLOCKS = [((4, 64), 64), ((5, 33), 64), ((3, 3), 64), ((2, 200), 128), ((1, 1), 64)]


def drawn(random, *shape):
    """Values of all magnitudes, with zeros of both signs, ties, and a row of zeros."""
    values = random.standard_normal(shape).astype(np.float32)
    values *= np.float32(2.0) ** random.integers(-6, 6, (shape[0], 1)).astype(np.float32)
    values[0, : min(8, shape[1])] = np.array([0, -0.0, 0.25, 0.75, -1.25, 1.75, 2.5, 5], np.float32)[: shape[1]]
    if shape[0] > 2:
        values[-1] = 0
    return torch.from_numpy(values)


def four_bits(random, files, arguments):
    shapes = [((arguments.blocks // 64, 64 * 64), 64)] if arguments.blocks else BLOCKS
    for shape, size in shapes:
        for kind in ("nf4", "fp4"):
            given = drawn(random, *shape)
            case = f"{kind}x{shape[0]}x{shape[1]}x{size}"
            files[f"{case}/input"] = given
            for nested in (False, True):
                packed, state = bnb.quantize_4bit(
                    given, blocksize=size, quant_type=kind, compress_statistics=nested
                )
                name = f"{case}/{'nested' if nested else 'w'}"
                files[name] = packed
                files |= {f"{name}.{key}": tensor for key, tensor in state.as_dict(packed=True).items()}
                files[f"{name}/values"] = bnb.dequantize_4bit(packed, state)
                state.dtype = torch.float16
                files[f"{name}/halves"] = bnb.dequantize_4bit(packed, state)


def mx(random, files, arguments):
    for rows, columns in [(arguments.blocks // 32, 1024)] if arguments.blocks else [(1, 32), (7, 96), (3, 256)]:
        given = drawn(random, rows, columns)
        case = f"mx{rows}x{columns}"
        scale, data = to_mx(given, torch.float4_e2m1fn_x2, 32, ScaleCalculationMode.FLOOR)
        files |= {f"{case}/input": given, f"{case}/scale": scale.view(torch.uint8), f"{case}/words": data.view(torch.uint8)}
        words = torch.from_numpy(random.integers(0, 256, (rows, columns // 2), dtype=np.uint8))
        scale = torch.from_numpy(random.integers(0, 256, (rows, columns // 32), dtype=np.uint8))
        scale[0, 0] = 0
        scale[-1, -1] = 255
        files |= {f"{case}/bytes": words, f"{case}/exponents": scale}
        files[f"{case}/values"] = to_dtype(words, scale.view(torch.float8_e8m0fnu), torch.float4_e2m1fn_x2, 32, torch.float32)
        weights = QuantizationArgs(num_bits=4, type="float", strategy="group", group_size=32, symmetric=True)
        scheme = QuantizationScheme(targets=["Linear"], weights=weights)
        # compressed-tensors has no NaN among its scales.
        scale = scale.clamp(max=254)
        state = {"weight_packed": words, "weight_scale": scale}
        files |= {f"{case}/finite": scale.clone()}
        files[f"{case}/compressed"] = MXFP4PackedCompressor.decompress(dict(state), scheme)["weight"]


def nv(random, files, arguments):
    for rows, columns in [(arguments.blocks // 64, 1024)] if arguments.blocks else [(1, 16), (5, 48), (3, 128)]:
        given = drawn(random, rows, columns)
        weights = QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True)
        scheme = QuantizationScheme(targets=["Linear"], weights=weights)
        scale = torch.from_numpy(random.integers(1, 0x7F, (rows, columns // 16), dtype=np.uint8)).view(torch.float8_e4m3fn)
        scale.view(torch.uint8)[0, 0] = 1
        world = torch.tensor([random.uniform(0.5, 500)], dtype=torch.float32)
        state = {"weight": given, "weight_scale": scale.float(), "weight_global_scale": world}
        packed = NVFP4PackedCompressor.compress(state, scheme)
        case = f"nv{rows}x{columns}"
        files |= {f"{case}/input": given, f"{case}/global": world, f"{case}/scale": scale}
        assert torch.equal(packed["weight_scale"].view(torch.uint8), scale.view(torch.uint8))
        files[f"{case}/words"] = packed["weight_packed"]
        words = torch.from_numpy(random.integers(0, 256, (rows, columns // 2), dtype=np.uint8))
        files[f"{case}/bytes"] = words
        state = {"weight_packed": words, "weight_scale": scale, "weight_global_scale": world}
        files[f"{case}/compressed"] = NVFP4PackedCompressor.decompress(state, scheme)["weight"]


def record(arguments):
    random = np.random.default_rng(4)
    files = {}
    for part in (four_bits, mx, nv):
        part(random, files, arguments)
    contiguous = {name: tensor.detach().clone().contiguous() for name, tensor in files.items()}
    save_file(contiguous, arguments.to / "floats.safetensors")

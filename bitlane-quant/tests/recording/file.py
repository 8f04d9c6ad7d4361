"""A GGUF file, by the package `gguf`: model.gguf, and model.safetensors with the values of its tensors as f32."""

import gguf
import numpy as np
from safetensors.numpy import save_file


def record(arguments):
    random = np.random.default_rng(5)
    writer = gguf.GGUFWriter(arguments.to / "model.gguf", "llama")
    writer.add_uint32("llama.block_count", 1)
    writer.add_float32("llama.rope.freq_base", 10000.0)
    writer.add_bool("tokenizer.ggml.add_bos_token", True)
    writer.add_array("tokenizer.ggml.tokens", ["<s>", "ä", "b"])
    writer.add_array("tokenizer.ggml.scores", [0.5, -1.0, 2.0])
    writer.add_custom_alignment(64)
    values = {}
    for name in ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "TQ2_0", "MXFP4"]:
        kind = gguf.GGMLQuantizationType[name]
        given = random.standard_normal((3, 256)).astype(np.float32)
        blocks = gguf.quants.quantize(given, kind)
        writer.add_tensor(f"blk.0.{name}.weight", blocks, raw_dtype=kind)
        values[f"blk.0.{name}.weight"] = gguf.quants.dequantize(blocks, kind)
    plain = {
        "norm": random.standard_normal(7).astype(np.float32),
        "half": random.standard_normal((2, 3, 5)).astype(np.float16),
        "places": random.integers(-9, 9, (4,), dtype=np.int32),
    }
    for name, tensor in plain.items():
        writer.add_tensor(name, tensor)
        values[name] = tensor.astype(np.float32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in values.items()}, arguments.to / "model.safetensors")

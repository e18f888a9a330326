"""Writes a GGUF file's weights as float32: the same numbers, without blocks for an engine to compute in.

    python benchmarks/dequantised.py MODEL FILE
    tiebreak bench parity --reference transformers --engines embedded,slot --models MODEL,FILE

llama.cpp multiplies quantised blocks with activations that it rounds to 8 bits, too. With the copy it cannot, so what
`bench parity` finds with the copy is everything else. Needs numpy and gguf.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, dequantize

from tiebreak import Registry, models

HEADER = ("GGUF.", "general.architecture", "general.file_type", "general.quantization_version")
"""What the writer sets by itself, or what is no longer true."""


def write(source: Path, target: Path) -> None:
    """Copy all metadata and tensors of a little-endian GGUF file, each tensor in float32.

    Args:
        source: the file to read.
        target: the file to write.
    """
    reader = GGUFReader(source)
    writer = GGUFWriter(target, str(reader.fields["general.architecture"].contents()))
    for name, field in reader.fields.items():
        if not name.startswith(HEADER):
            kind, *inner = field.types
            sub_type = inner[0] if kind == GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), kind, sub_type)
    for tensor in reader.tensors:
        kept = tensor.tensor_type == GGMLQuantizationType.F32
        weights = tensor.data if kept else dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, weights.astype("<f4"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a reference to a model, or a path")
    parser.add_argument("file", type=Path, help="the file to write")
    given = parser.parse_args()
    write(models.resolve(given.model, lambda: Registry().models()[0]).path, given.file)


if __name__ == "__main__":
    main()

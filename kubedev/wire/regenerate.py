"""Makes the *_pb2.py modules and their types from the .proto files; needs the extra `proto`.

Generated code must not be newer than the protobuf that runs it, so the oldest supported tools make it, and
the result is checked in.
"""

from pathlib import Path

__all__ = ["NAMES", "main", "regenerate"]

HERE = Path(__file__).parent
NAMES = ("v1beta1", "podresources_v1")


def regenerate(target: Path) -> None:
    """Write the generated files below `target`, in kubedev/wire. Raises RuntimeError where protoc fails."""
    from grpc_tools import protoc

    root = HERE.parent.parent
    sources = [str(HERE / f"{name}.proto") for name in NAMES]
    options = [f"-I{root}", f"--python_out={target}", f"--pyi_out={target}"]
    if protoc.main(["protoc", *options, *sources]) != 0:
        raise RuntimeError(f"protoc could not compile {' and '.join(sources)}")


def main() -> None:
    """Regenerate in place."""
    regenerate(HERE.parent.parent)
    for name in NAMES:
        print(f"wrote {HERE / name}_pb2.py")


if __name__ == "__main__":
    main()

"""Makes v1beta1_pb2.py and its types from v1beta1.proto; needs the extra `proto`.

Generated code must not be newer than the protobuf that runs it, so the oldest supported tools make it, and
the result is checked in.
"""

from pathlib import Path

__all__ = ["main", "regenerate"]

HERE = Path(__file__).parent


def regenerate(target: Path) -> None:
    """Write the generated files below `target`, in kubedev/wire. Raises RuntimeError where protoc fails."""
    from grpc_tools import protoc

    root = HERE.parent.parent
    source = HERE / "v1beta1.proto"
    options = [f"-I{root}", f"--python_out={target}", f"--pyi_out={target}"]
    if protoc.main(["protoc", *options, str(source)]) != 0:
        raise RuntimeError(f"protoc could not compile {source}")


def main() -> None:
    """Regenerate in place."""
    regenerate(HERE.parent.parent)
    print(f"wrote {HERE / 'v1beta1_pb2.py'}")


if __name__ == "__main__":
    main()

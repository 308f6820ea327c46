"""TensorBoard logs under expt/; look at them with `tensorboard --logdir expt`. (Given.)"""

from __future__ import annotations

from pathlib import Path

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:  # training works without
    SummaryWriter = None  # type: ignore[assignment,misc]


class Log:
    def __init__(self, folder: Path) -> None:
        self.writer = SummaryWriter(str(folder)) if SummaryWriter is not None else None
        if self.writer is None:
            print("no logs for TensorBoard: python -m pip install tensorboard")

    def __enter__(self) -> Log:
        return self

    def write(self, name: str, value: float, step: int) -> None:
        if self.writer is not None:
            self.writer.add_scalar(name, value, step)

    def __exit__(self, *_: object) -> None:
        if self.writer is not None:
            self.writer.close()

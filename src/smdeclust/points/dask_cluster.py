"""A Dask cluster as this package uses it: submit tasks to blocks, gather small results in order."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from smdeclust.exceptions import SMDEClustError
from smdeclust.points.threads import available_threads

# Seconds between looks at whether any worker is left.
PATIENCE = 20.0


class WorkersLostError(SMDEClustError, RuntimeError):
    """The workers that hold the data are gone, and none took their place."""


class Cluster:
    """The active Dask client."""

    def __init__(self, client: Any, patience: float = PATIENCE) -> None:
        self.client, self.patience = client, patience
        self.n_bytes = 0  # of results gathered and of values sent out so far

    def compute(self, parts: Sequence[Any]) -> Sequence[Any]:
        """Evaluate delayed values; returns a future of each."""
        return self.client.compute(parts)

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function on the worker that holds its arguments; returns a future."""
        # Never the same key twice: a result that was released is not taken for a new one.
        return self.client.submit(function, *args, pure=False, retries=2)

    def send(self, value: Any) -> Any:
        """Put a small value on the cluster in a way that outlives any worker."""
        self.n_bytes += _size(value)
        return self.submit(_same, value)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """The results, in order; a clear error where the cluster cannot make them."""
        from distributed import KilledWorker, wait

        while True:
            try:
                wait(futures, timeout=self.patience)
                break
            except TimeoutError:
                if not self.client.scheduler_info(n_workers=-1)["workers"]:
                    raise WorkersLostError(
                        f"No Dask worker has been available for {self.patience:g} s, so the data "
                        f"cannot be read. Start workers and fit again."
                    ) from None
        try:
            results = self.client.gather(futures)
        except KilledWorker as error:
            raise WorkersLostError(
                f"A task killed one worker after another, probably for lack of memory: {error}. "
                f"Use smaller chunks or larger workers, and fit again."
            ) from error
        self.n_bytes += _size(results)
        return list(results)


class Threads(Cluster):
    """Threads of this process in place of a Dask cluster: no messages, no copies.

    Tasks start in the order in which they are submitted, so that none waits for one behind it.
    """

    client: Executor

    def compute(self, parts: Sequence[Any]) -> Sequence[Any]:
        return [self.submit(partial(part.compute, scheduler="synchronous")) for part in parts]

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.client.submit(_run, function, args)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        return [future.result() for future in futures]


@contextmanager
def active_cluster() -> Iterator[Cluster]:
    """The user's Dask client; where there is none, threads of this process for a while."""
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):
        with ThreadPoolExecutor(available_threads()) as own:
            try:
                yield Threads(own)
            except BaseException:
                own.shutdown(cancel_futures=True)  # what has not begun is not needed
                raise
        return
    yield Cluster(client)


def _run(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    return function(*[arg.result() if isinstance(arg, Future) else arg for arg in args])


def _same(value: Any) -> Any:
    return value


def _size(value: Any) -> int:
    """About how many bytes of numbers there are in a value."""
    if isinstance(value, list | tuple):
        return sum(map(_size, value))
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    return sum(map(_size, vars(value).values())) if hasattr(value, "__dict__") else 8

"""scikit-learn's callbacks (progress bars and the like), where its version has them.

Each stage of a fit becomes a task of the callback tree, so ``hasher.set_callbacks(ProgressBar())`` shows
them. Before scikit-learn 1.9 there is nothing to call, and nothing is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "FitTask", "with_callbacks"]


class FitTask:
    """The root task of one fit; does nothing where callbacks are not supported."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._estimator, self._data = estimator, {"X": X, "y": y}
        begin = getattr(estimator, "_init_callback_context", None)
        self._context = None if begin is None else begin(max_subtasks=None)
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """One stage as a subtask."""
        if self._context is None:
            yield
            return
        task = self._context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        yield
        task.call_on_fit_task_end(estimator=self._estimator, **self._data)

    def end(self) -> None:
        """The fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator, **self._data)

"""Views: other features of the same kind of items, encoded into the same codes. Texts beside pictures, say.

A view is a hasher of its own, with its own columns and its own map, whose codes have the length, the fields
and the model id of the first one. So an index of pictures answers texts.
"""

from __future__ import annotations

import copy
import re
from typing import Any, Self

from .._internal.validation import check_features
from ..errors import InvalidInput, UnknownName

__all__ = ["MOST_VIEWS", "VIEW_NAME", "Viewed"]

VIEW_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
MOST_VIEWS = 20  # a model file holds at most a thousand arrays, and a view about twenty


class Viewed:
    """A hasher with views by name; it is itself one of a hasher where ``view_`` is not None.

    The features of ``fit`` are the first view and have no name.
    """

    views_: dict[str, Any]
    view_: str | None = None

    def view(self, name: str) -> Any:
        """The hasher of a view, which has all that encodes and searches; an error names the views there are."""
        views = getattr(self, "views_", {})
        if name in views:
            return views[name]
        if not views:
            raise InvalidInput(
                f"There is no view called {name!r}: the hasher has none",
                "the rows that it was fitted on, without view=",
                "Leave view out, or add one with add_view",
            )
        raise UnknownName.among("view", name, views)

    def _checked(self, X: Any) -> Any:
        """Checked rows of this view; errors name it, or the view whose columns they have."""
        try:
            return check_features(self, X, reset=False)
        except InvalidInput as error:
            if self.view_ is not None:
                wrong = f"View {self.view_!r}: {error.wrong}"
                raise type(error)(wrong, error.expected, error.remedy) from error
            width = getattr(X, "shape", (0, 0))[-1]
            named = [name for name, view in self.views_.items() if view.n_features_in_ == width]
            if not named or width == self.n_features_in_:  # type: ignore[attr-defined]
                raise
            remedy = f"Pass view={named[0]!r} if these are rows of that view"
            raise type(error)(error.wrong, error.expected, remedy) from error

    def _blank_view(self, name: str) -> Self:
        """A copy of this hasher that has seen no rows, to become the view of that name."""
        if self.view_ is not None:
            raise InvalidInput(
                f"A view was to be added to view {self.view_!r}",
                "the hasher that was fitted",
                "Add it to that one",
            )
        if not isinstance(name, str) or not VIEW_NAME.fullmatch(name):
            raise InvalidInput(
                f"A view was called {name!r}", "1 to 40 letters, digits, '-' or '_'", "Choose such a name"
            )
        if name not in self.views_ and len(self.views_) == MOST_VIEWS:
            raise InvalidInput(
                f"The hasher has {MOST_VIEWS} views", f"at most {MOST_VIEWS}", "Fit another hasher"
            )
        blank = copy.copy(self)
        for own in ("_stream", "_listener", "report_", "feature_names_in_", "n_features_in_"):
            blank.__dict__.pop(own, None)
        blank.view_ = name
        return blank

    def _take_view(self, blank: Any, fitted: Any) -> None:
        """Install what was learned or loaded of a view; its codes are of this model."""
        blank.adopt(fitted)
        blank.model_id_ = self.model_id_  # type: ignore[attr-defined]
        self.views_ = {**self.views_, blank.view_: blank}

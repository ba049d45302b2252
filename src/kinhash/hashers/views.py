"""Views: other features of the same kind of items, encoded into the same codes. Texts beside pictures, say.

A view is a hasher of its own, with its own columns and its own map, whose codes have the length, the fields
and the model id of the first one. So an index of pictures answers texts.
"""

from __future__ import annotations

import copy
import re
import warnings
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from .._internal.types import Features, LabelsLike, Matrix
from .._internal.validation import check_features
from ..errors import InvalidInput, KinhashWarning, UnknownName
from ..supervision import Pairs

__all__ = ["MOST_VIEWS", "VIEW_NAME", "Viewed", "check_view_name"]

VIEW_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
MOST_VIEWS = 20  # a model file holds at most a thousand arrays, and a view about twenty


def check_view_name(name: object) -> None:
    """Refuse what cannot be the name of a view."""
    if not isinstance(name, str) or not VIEW_NAME.fullmatch(name):
        raise InvalidInput(
            f"A view was called {name!r}", "1 to 40 letters, digits, '-' or '_'", "Choose such a name"
        )


class Viewed:
    """A hasher with views by name; it is itself one of a hasher where ``view_`` is not None.

    The features of ``fit`` are the first view and have no name.
    """

    views_: dict[str, Self]
    model_id_: str | None
    n_features_in_: int
    view_: str | None = None

    def view(self, name: str) -> Self:
        """The hasher of a view, which encodes and searches; an error names the views there are."""
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

    def add_view(
        self, name: str, X: Features, y: LabelsLike = None, *, beside: Features = None, pairs: Pairs = None
    ) -> Self:
        """Add other features of such items: texts beside pictures, whose codes are compared directly.

        ``X`` (n, p) are the rows of the view, with columns of its own, and ``name`` what calls it afterwards:
        ``encode(X, view="text")``. Nothing changes for the first view, so codes and indexes stay valid.

        - With labels ``y``, of the kind that `fit` had: features and penalty are chosen for the view as for
          the first one, and predicted labels become kin bits in the same way. Rows of both views need not
          belong together. Right after `fit` only: a loaded model does not hold what this needs.
        - With ``beside``, rows of the first view: row i of ``X`` belongs with row i of ``beside``, or rows
          ``pairs[0]`` of ``X`` with rows ``pairs[1]`` of ``beside``. The view learns to predict the codes of
          partners, as far as held-out pairs gain. For any fitted or loaded hasher.
        - With both, labels decide the kin bits and ``beside`` the look-alike bits.

        Look-alike bits of two views mean the same only if rows of both were seen together. With labels alone
        a view has none: they are 0 in its codes, and `search` and `HammingIndex.search` let kin bits alone
        decide for its queries. Fit with ``alike=0`` if codes are for search across views.

        Memory: as of `fit`; with ``beside`` 480 MB at most, and the rows of ``beside``.
        """
        from .learn_view import learn_view

        check_is_fitted(self, "fitted_")
        blank: Any = self._blank_view(name)
        found, report = learn_view(self, check_features(blank, X, reset=True), y, beside, pairs)
        self._take_view(blank, found)
        blank.report_ = report
        for text in report.warnings:
            warnings.warn(f"View {name!r}: {text}", KinhashWarning, stacklevel=2)
        return self

    def _checked(self, X: Features) -> Matrix:
        """Checked rows of this view; errors name it, or the view whose columns they have."""
        try:
            return check_features(self, X, reset=False)
        except InvalidInput as error:
            if self.view_ is not None:
                wrong = f"View {self.view_!r}: {error.wrong}"
                raise type(error)(wrong, error.expected, error.remedy) from error
            width = getattr(X, "shape", (0, 0))[-1]
            named = [name for name, view in self.views_.items() if view.n_features_in_ == width]
            if not named or width == self.n_features_in_:
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
        check_view_name(name)
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
        blank.model_id_ = self.model_id_
        self.views_ = {**self.views_, blank.view_: blank}

"""The step of a plan that picks some of a value's partial sums.

%y_1 = plan.part %y for "y"
  : tensor<4x8xf16> layout <[1, 4, 8] bytes 2 first 3 partial 2 step 1>
"""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from tiledialect.dialects.plan_step import LyingOp
from tiledialect.layout import Layout


@irdl_op_definition
class PartOp(LyingOp):
    """Neighbouring partial sums of a value, where they lie: those of the tiles that the
    layout's `first` and `partial` name. So a sum may come in batches."""

    name = "plan.part"

    def verify_(self) -> None:
        if self.layout.data.partial is None:
            raise VerifyException("a part is of partial sums, its layout has none")

    def is_part_of(self, layout: Layout) -> bool:
        """Whether a value of this layout has these partial sums."""
        own = self.layout.data
        some, every = own.partial, layout.partial
        if some is None or every is None:
            return False
        if own != layout.with_(first=own.first, partial=some):
            return False
        skipped, odd = divmod(own.first - layout.first, max(1, every.stride))
        inside = skipped >= 0 and skipped + some.count <= every.count
        return inside and odd == 0 and some.stride == every.stride

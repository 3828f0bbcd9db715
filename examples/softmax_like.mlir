// A softmax spelled out over the scores of four heads: the maximum goes off before the
// exponential, so that no exponential overflows f16; sums are kept in f32.

!q = tensor<4x24x32xf16>
!scores = tensor<4x24x24xf16>
!row = tensor<4x24x1xf16>
!wide = tensor<4x24x24xf32>
!wide_row = tensor<4x24x1xf32>

module attributes {tile.machine = "mini16"} {
  func.func @softmax_like(%q: !q, %k: !q) -> !scores {
    %scores = tile.matmul %q, %k transpose_b accumulate f32 : (!q, !q) -> !scores
    %max = tile.reduce max %scores over [2] keepdims : !scores -> !row
    %shifted = tile.sub %scores, %max : (!scores, !row) -> !scores
    %wide = tile.cast %shifted : !scores to !wide
    %exp = tile.exp %wide : !wide
    %sum = tile.reduce sum %exp over [2] keepdims : !wide -> !wide_row
    %share = tile.div %exp, %sum : (!wide, !wide_row) -> !wide
    %p = tile.cast %share : !wide to !scores
    return %p : !scores
  }
}

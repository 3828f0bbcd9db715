// RUN: tile-opt %s --split-input-file --print-debuginfo | filecheck %s
// RUN: tile-opt %s --split-input-file --print-debuginfo | tile-opt --split-input-file --print-debuginfo | filecheck %s
// RUN: tile-opt %s --split-input-file | filecheck %s --check-prefix=PLAIN

// Locations may refer to each other and stand at the end of the file.
// PLAIN-LABEL: @aliases
// PLAIN-NOT: loc(
// CHECK-LABEL: @aliases
// CHECK: func.func @main(%x: i32 loc("net.py":12:4)) -> i32 {
// CHECK: return %x : i32 loc(fused<"cse">["net.py":12:4, "jit(f)/add"("net.py":12:4)])
// CHECK: } loc("range.py":64:35)
// CHECK: } loc(callsite("jit(f)/add"("net.py":12:4) at "net.py":12:4))
module @aliases {
  func.func @main(%x: i32 loc(#file)) -> i32 {
    return %x : i32 loc(#both)
  } loc(#range)
} loc(#site)
#site = loc(callsite(#named at #file))
#both = loc(fused<"cse">[#file, #named])
#named = loc("jit(f)/add"(#file))
#file = loc("net.py":12:4)
#range = loc("range.py":64:35 to :51)

// -----

// What has no location has its place in the file, also in a later chunk.
// CHECK-LABEL: @places
// CHECK: func.func @main(%x: i32 loc("{{.*}}":33:19)) -> i32 {
// CHECK: return %x : i32 loc("{{.*}}":34:5)
// CHECK: } loc("{{.*}}":33:3)
// CHECK: } loc("{{.*}}":32:1)
module @places {
  func.func @main(%x: i32) -> i32 {
    return %x : i32
  }
}

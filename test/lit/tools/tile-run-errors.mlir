// RUN: not tile-run %s 2>&1 | filecheck %s --check-prefix=TEXT
// RUN: not tile-run %t.absent 2>&1 | filecheck %s --check-prefix=ABSENT
// RUN: not tile-run 2>&1 | filecheck %s --check-prefix=NOTHING
// RUN: not tile-run --chek x.tilepkg 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: tile-opt %s --plan-budget=max -t package -o %t.tilepkg
// RUN: not tile-run %t.tilepkg --inputs %s 2>&1 | filecheck %s --check-prefix=ARRAYS
// RUN: rm -f %t.npz
// RUN: head -c 900 %t.tilepkg > %t.cut
// RUN: not tile-run %t.cut --outputs %t.npz 2>&1 | filecheck %s --check-prefix=CUT
// RUN: not ls %t.npz

// A text, no file, no argument, no such option: one line each.
// TEXT: tile-run-errors.mlir: error: is no package, or is cut short
// ABSENT: absent: error: cannot be read: No such file or directory
// NOTHING: error: the following arguments are required: package
// OPTION: error: unknown option '--chek'; did you mean --check?

// What is no array file, and a package that lost its end.
// ARRAYS: tile-run-errors.mlir: error: is no .npz file: File is not a zip file
// CUT: error: is no package, or is cut short
module attributes {tile.machine = "mini16"} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = tile.neg %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

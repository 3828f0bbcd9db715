// RUN: tile-opt %s --plan-budget=16000 -t package -o %t.tilepkg --write-plan=%t.json
// RUN: filecheck %s --check-prefix=PLAN --input-file=%t.json
// RUN: tile-opt %s --plan-budget=16000 -t package -o %t.again.tilepkg --constraints=%t.json
// RUN: cmp %t.tilepkg %t.again.tilepkg
// RUN: not tile-opt %s --plan-budget=2100 --constraints=%t.json 2>&1 | filecheck %s --check-prefix=SMALL
// RUN: echo '{"h": {"grid": {"n": 2}}}' > %t.asked.json
// RUN: tile-opt %s --plan-budget=16000 --stop-after=select-plan --constraints=%t.asked.json | filecheck %s --check-prefix=ASKED
// RUN: echo '{"h": {"grid": {"n": 2}, "steps": 7}}' > %t.none.json
// RUN: not tile-opt %s --plan-budget=16000 --constraints=%t.none.json 2>&1 | filecheck %s --check-prefix=NONE
// RUN: echo '{"h": {"grid": {"z": 2}}}' > %t.wrong.json
// RUN: not tile-opt %s --plan-budget=16000 --constraints=%t.wrong.json 2>&1 | filecheck %s --check-prefix=WRONG

// A whole plan is written, a line a group, and gives the same package; in fewer bytes it
// is refused with what it needs.
// PLAN: "made from": {"source": "{{[0-9a-f]+}}", "machine": "{{[0-9a-f]+}}", "budget": 16000, "reserve": 0, "certificate": "{status
// PLAN-NEXT: "chunks": 1,
// PLAN-NEXT: "h": {"grid": {"b": 1, "m": {{[0-9]+}}, "n": {{[0-9]+}}, "k": {{[0-9]+}}}, "steps": {{[0-9]+}}, "paths": ["{{[a-z_]+}}", "{{[a-z_]+}}"], "rest": "{{[a-z0-9]+}}", "order": "{{[a-z_]+}}"}
// SMALL: {{[0-9]+}}:10: error: no plan that is as asked fits a budget of 2100 bytes a tile (2048 of them support); the smallest budget that works is {{[0-9]+}} bytes, fullest in 'h'

// A part of it is asked, the rest is searched.
// ASKED: constraints = {h = {grid = {n = 2 : i64}}}
// ASKED-SAME: tile.choices = {chunks = 1 : i64, h = {grid = {b = 1 : i64, m = {{[0-9]+}} : i64, n = 2 : i64

// What cannot be is refused where the operation stands, what cannot be read in the file.
// NONE: {{[0-9]+}}:10: error: no candidate of 'h' with n 2 has steps 7; steps there is 1, 2,
// WRONG: .wrong.json:1:17: error: 'h' has no dimension 'z', it has b, m, n, k

!x = tensor<16x64xf16>
!w = tensor<64x64xf16>
module attributes {tile.machine = "mini4"} {
  func.func @main(%x: !x, %w: !w {tile.parameter}) -> !x {
    %h = tile.matmul %x, %w : (!x, !w) -> !x
    return %h : !x
  }
}

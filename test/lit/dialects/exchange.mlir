// RUN: tile-opt %s | tile-opt | filecheck %s

// A phase is one step of moves. After scheduling it has numbers and rows: of a small
// phase a table of bytes and cycles, of a large one a compressed text.
// CHECK: exchange.phase 0 "gather" {
// CHECK-NEXT: exchange.move %x to %y
// CHECK-NEXT: : <[16] bytes 4 spread [4 step 1]>
// CHECK-NEXT: to <[16] bytes 4 replicas [4 step 1]> from "f.mlir":3:8
// CHECK-NEXT: exchange.move %x to %y staging %s stack
// CHECK-NEXT: : <[4] bytes 4 partial 4 step 1>
// CHECK-NEXT: to <[4] bytes 4>
// CHECK-NEXT: } from "f.mlir":3:8
// CHECK-NEXT: exchange.phase 1 "all" estimate 99 {
// CHECK-NEXT: } scheduled length 303 bound_receive 20 bound_send 4 bound_control 5 messages 2 row_bytes 24 ratio 15.1500 rows <
// CHECK-NEXT: tile 0 send 0:16 at 0, 16:272 at 290, 272:280 at 354 receive 20:24 from 1 at 12
// CHECK-NEXT: tile 1 send 0:4 at 0 receive 0:8 from 0 at 10, 8:16 from 2 at 12, 20:24 from 2 at 300> from "f.mlir":4:8
// CHECK-NEXT: exchange.phase 2 "none" {
// CHECK-NEXT: } scheduled length 0 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 ratio 1.0000 rows <>
// CHECK-NEXT: exchange.phase 3 "packed" {
// CHECK-NEXT: } scheduled length 9 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 ratio 1.0000 rows <1 tiles 1 programs 3 words "eNpjZmRgYGZiFmBABRJg0sFBAQAFPwDV">
// CHECK-NEXT: exchange.phase 4 "serial" {
// CHECK-NEXT: exchange.move %x to %y
// CHECK-NEXT: :
// CHECK-NEXT: to
// CHECK-NEXT: exchange.serial %x / %y, %y / %x because "asked for"
// CHECK-NEXT: exchange.serial %x / %x cost 10 because "in itself" from "f.mlir":5:8
memory.program @main {
  %x = memory.buffer operand "x" 64 bytes on <0 [4:1]> live [0, 5)
  %y = memory.buffer operand "y" 64 bytes on <0 [4:1]> live [0, 5)
  %s = memory.buffer staging "s" 64 bytes on <0 [4:1]> live [0, 5)
  exchange.phase 0 "gather" {
    exchange.move %x to %y : <[16] bytes 4 spread [4 step 1]> to <[16] bytes 4 replicas [4 step 1]> from "f.mlir":3:8
    exchange.move %x to %y staging %s stack : <[4] bytes 4 partial 4 step 1> to <[4] bytes 4>
  } from "f.mlir":3:8
  exchange.phase 1 "all" estimate 99 {
  } scheduled length 303 bound_receive 20 bound_send 4 bound_control 5 messages 2 row_bytes 24 rows <
    tile 1 send 0:4 at 0 receive 0:4 from 0 at 10, 4:8 from 0 at 11, 8:16 from 2 at 12, 20:24 from 2 at 300
    tile 0 send 16:280 at 290, 0:16 at 0 receive 20:24 from 1 at 12
  > from "f.mlir":4:8
  exchange.phase 2 "none" {
  } scheduled length 0 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 rows <>
  exchange.phase 3 "packed" {
  } scheduled length 9 bound_receive 0 bound_send 0 bound_control 0 messages 0 row_bytes 0 rows <1 tiles 1 programs 3 words "eNpjZmRgYGZiFmBABRJg0sFBAQAFPwDV">
  exchange.phase 4 "serial" {
    exchange.move %x to %y : <[16] bytes 4> to <[16] bytes 4 first 1>
    exchange.serial %x / %y, %y / %x because "asked for"
    exchange.serial %x / %x cost 10 because "in itself" from "f.mlir":5:8
  }
}

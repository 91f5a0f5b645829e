/** Core modules with typical features of guest code; each exports `run`, which takes and returns a number. */

export interface Program {
  readonly what: string;
  readonly fields: string;
  readonly argument: number;
}

export const PROGRAMS: readonly Program[] = [
  {
    what: 'recursion',
    argument: 18,
    fields: `
      (func $run (export "run") (param $n i32) (result i32)
        (if (result i32) (i32.lt_u (local.get $n) (i32.const 2)) (then (local.get $n))
          (else (i32.add (call $run (i32.sub (local.get $n) (i32.const 1)))
            (call $run (i32.sub (local.get $n) (i32.const 2)))))))`,
  },
  {
    what: 'tail calls',
    argument: 1000,
    fields: `
      (table funcref (elem $step))
      (type $t (func (param i32 i32) (result i32)))
      (func $step (param $n i32) (param $sum i32) (result i32)
        (if (i32.eqz (local.get $n)) (then (return (local.get $sum))))
        (return_call_indirect (type $t) (i32.sub (local.get $n) (i32.const 1))
          (i32.add (local.get $sum) (local.get $n)) (i32.const 0)))
      (func (export "run") (param i32) (result i32) (return_call $step (local.get 0) (i32.const 0)))`,
  },
  {
    what: 'loops in loops, with br_table',
    argument: 50,
    fields: `
      (func (export "run") (param $n i32) (result i32) (local $i i32) (local $j i32) (local $sum i32)
        (loop $outer
          (local.set $j (i32.const 0))
          (loop $inner
            (block $c (block $b (block $a
              (br_table $a $b $c (i32.rem_u (local.get $j) (i32.const 3))))
              (local.set $sum (i32.add (local.get $sum) (i32.const 1))) (br $c))
              (local.set $sum (i32.xor (local.get $sum) (local.get $j))))
            (local.set $j (i32.add (local.get $j) (i32.const 1)))
            (br_if $inner (i32.lt_u (local.get $j) (local.get $n))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br_if $outer (i32.lt_u (local.get $i) (local.get $n))))
        (local.get $sum))`,
  },
  {
    what: 'memory: stores, bulk operations, growth',
    argument: 500,
    fields: `
      (memory 1)
      (data $d "cairn")
      (func (export "run") (param $n i32) (result i32)
        (memory.fill (i32.const 0) (i32.const 7) (local.get $n))
        (memory.init $d (i32.const 8) (i32.const 0) (i32.const 5))
        (memory.copy (i32.const 1000) (i32.const 0) (local.get $n))
        (i64.store offset=16 align=4 (i32.const 1000) (i64.const -2))
        (data.drop $d)
        (i32.add (i32.mul (memory.grow (i32.const 1)) (memory.size)) (i32.load16_u offset=9 (i32.const 1000))))`,
  },
  {
    what: 'tables: bulk operations, references, growth',
    argument: 3,
    fields: `
      (table $t 4 10 funcref) (table $x 2 externref)
      (elem $e func $one $two)
      (elem declare func $two)
      (type $f (func (result i32)))
      (func $one (result i32) (i32.const 1))
      (func $two (result i32) (i32.const 2))
      (func (export "run") (param $n i32) (result i32)
        (table.init $t $e (i32.const 0) (i32.const 0) (i32.const 2))
        (table.copy $t $t (i32.const 2) (i32.const 0) (i32.const 2))
        (table.fill $t (i32.const 1) (ref.func $two) (i32.const 1))
        (elem.drop $e)
        (table.set $t (i32.const 0) (table.get $t (i32.const 3)))
        (i32.add (call_indirect $t (type $f) (local.get $n))
          (i32.add (table.grow $x (ref.null extern) (local.get $n)) (select (result i32)
            (table.size $x) (ref.is_null (table.get $x (i32.const 0))) (i32.const 1)))))`,
  },
  {
    what: 'numbers of every kind',
    argument: 77,
    fields: `
      (global $g (mut f64) (f64.const 1.5)) (global $v v128 (v128.const i32x4 1 2 3 4))
      (global $sum i32 (i32.add (i32.const 3) (i32.mul (i32.const 4) (i32.const 5))))
      (func $pair (param i32) (result i32 i64) (local.get 0) (i64.extend_i32_s (i32.extend8_s (local.get 0))))
      (func (export "run") (param $n i32) (result i32) (local i64 v128)
        (call $pair (local.get $n)) (local.set 1) (drop)
        (global.set $g (f64.mul (global.get $g) (f64.convert_i64_s (local.get 1))))
        (local.set 2 (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
          (global.get $v) (i32x4.splat (local.get $n))))
        (i32.add (i32x4.extract_lane 3 (i32x4.dot_i16x8_s (local.get 2) (global.get $v)))
          (i32.add (i32.trunc_sat_f64_s (f64.sqrt (global.get $g)))
            (i32.add (global.get $sum) (i32.reinterpret_f32 (f32.demote_f64 (global.get $g)))))))`,
  },
  {
    what: 'vectors in memory, lane by lane',
    argument: 16,
    fields: `
      (memory 1)
      (func (export "run") (param $n i32) (result i32) (local $v v128)
        (v128.store offset=32 (i32.const 0) (v128.const i64x2 0x0102030405060708 -1))
        (local.set $v (v128.load8_lane offset=33 3 (i32.const 0) (v128.load32_zero (local.get $n))))
        (v128.store16_lane 1 (i32.const 64) (i16x8.add (local.get $v) (v128.load8x8_s (i32.const 32))))
        (i32.load (i32.const 64)))`,
  },
];

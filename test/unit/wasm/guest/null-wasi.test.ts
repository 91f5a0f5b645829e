// Goal: a guest gets from WASI only values of the host, the same in each call, and other functions fail (G10). Method:
// the functions alone; then a component that calls some of them, through the linker.
import { expect, it } from 'vitest';
import { NullWasi, type Value, type ValueList } from '#wasm';
import { linkedWith } from '../../../support/wasm/linked.ts';
import { viewText, wat } from '../../../support/wasm/wat.ts';

const OPTIONS = { timeNs: 1_700_000_000_123_456_789n, seed: 7n };
const RANDOM = 'wasi:random/random@0.2.3';

it('NullWasi draws the same numbers from the same seed, and others from another', () => {
  const draw = (seed: bigint): ValueList => {
    const wasi = begun({ ...OPTIONS, seed });
    return [call(wasi, RANDOM, 'get-random-u64'), call(wasi, RANDOM, 'get-random-bytes', 13n)];
  };
  expect(draw(7n)).toEqual(draw(7n));
  expect(draw(8n)).not.toEqual(draw(7n));
  expect(draw(7n)).toEqual([7191089600892374487n, expect.objectContaining({ length: 13 })]);
});

it('NullWasi fails with the name of a function that it does not have', () => {
  expect(() => call(begun(OPTIONS), 'wasi:http/outgoing-handler@0.2.0', 'handle')).toThrow(
    'A guest calls wasi:http/outgoing-handler#handle, which is not available here',
  );
});

it('NullWasi implements the imports of a component', async () => {
  const wasi = begun(OPTIONS);
  const guest = linkedWith(await wat(GUEST), (name, member) => wasi.functionOf(name, member));
  expect(guest.call('roll', [])).toBe(7191089600892374487n);
  // A guest may log.
  expect(guest.call('log', [])).toBe(65_536n);
  expect(guest.call('log', [])).toBe(65_536n);
  expect(() => guest.call('leave', [])).toThrow('wasi:cli/exit#exit');
});

/** Draws a random number, reads the capacity of the error stream, and exits. */
const GUEST = viewText({
  before: `
    (import "wasi:random/random@0.2.3" (instance $random (export "get-random-u64" (func (result u64)))))
    (import "wasi:io/error@0.2.3" (instance $error (export "error" (type (sub resource)))))
    (alias export $error "error" (type $io-error))
    (import "wasi:io/streams@0.2.3" (instance $streams
      (export "output-stream" (type $out (sub resource)))
      (alias outer 1 $io-error (type $e))
      (export "error" (type $error (eq $e)))
      (type $own (own $error))
      (type $stream-error (variant (case "last-operation-failed" $own) (case "closed")))
      (export "stream-error" (type $failed (eq $stream-error)))
      (export "[method]output-stream.check-write" (func (param "self" (borrow $out)) (result (result u64 (error $failed)))))))
    (alias export $streams "output-stream" (type $output))
    (import "wasi:cli/stderr@0.2.3" (instance $stderr
      (alias outer 1 $output (type $o)) (export "output-stream" (type $out (eq $o)))
      (export "get-stderr" (func (result (own $out))))))
    (import "wasi:cli/exit@0.2.3" (instance $exit (export "exit" (func (param "status" (result))))))
    (core module $memory (memory (export "memory") 1))
    (core instance $memory (instantiate $memory))
    (core func $roll (canon lower (func $random "get-random-u64")))
    (core func $stderr (canon lower (func $stderr "get-stderr")))
    (core func $check (canon lower (func $streams "[method]output-stream.check-write") (memory (core memory $memory "memory"))))
    (core func $drop (canon resource.drop $output))
    (core func $exit (canon lower (func $exit "exit")))
    (core module $g
      (import "h" "memory" (memory 1))
      (import "h" "roll" (func $roll (result i64)))
      (import "h" "stderr" (func $stderr (result i32)))
      (import "h" "check" (func $check (param i32 i32)))
      (import "h" "drop" (func $drop (param i32)))
      (import "h" "exit" (func $exit (param i32)))
      (func (export "roll") (result i64) (call $roll))
      (func (export "log") (result i64) (local $stream i32)
        (local.set $stream (call $stderr))
        (call $check (local.get $stream) (i32.const 8))
        (call $drop (local.get $stream))
        (i64.load (i32.const 16)))
      (func (export "leave") (call $exit (i32.const 0))))
    (core instance $h (export "memory" (memory $memory "memory")) (export "roll" (func $roll)) (export "stderr" (func $stderr))
      (export "check" (func $check)) (export "drop" (func $drop)) (export "exit" (func $exit)))
    (core instance $guest (instantiate $g (with "h" (instance $h))))
    (func (export "roll") (result u64) (canon lift (core func $guest "roll")))
    (func (export "log") (result u64) (canon lift (core func $guest "log")))
    (func (export "leave") (canon lift (core func $guest "leave")))`,
});

function begun(options: typeof OPTIONS): NullWasi {
  const wasi = new NullWasi();
  wasi.begin(options);
  return wasi;
}

function call(wasi: NullWasi, name: string, member: string, ...values: ValueList): Value {
  return wasi.functionOf(name, member)(values);
}

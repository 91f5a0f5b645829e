// Goal: messages of processes are decoded as they were encoded, in pieces of any size, and other bytes are rejected
// (G14, G15). Method: random messages encoded and decoded, random bytes, and frames in random pieces.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '#base';
import { DEFAULT_LIMITS, FAULT_CODES, Handle, type Value } from '#wasm';
import { readValue, writeValue } from '../../../../src/wasm/abi/value-codec.ts';
import { record } from '../../../../src/wasm/abi/values.ts';
import { FrameReader, frameHead } from '../../../../src/wasm/executors/frames.ts';
import {
  type Answer,
  decodeAnswer,
  decodeHostCall,
  decodeHostResult,
  decodeRequest,
  encodeAnswer,
  encodeHostCall,
  encodeHostResult,
  encodeRequest,
  type Request,
} from '../../../../src/wasm/executors/messages.ts';

const { value: values } = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constant(undefined),
    fc.boolean(),
    fc.double(),
    fc.integer(),
    fc.maxSafeNat(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.bigInt({ min: 2n ** 63n, max: 2n ** 64n - 1n }),
    fc.string({ unit: 'binary' }),
    fc.uint8Array(),
    fc.maxSafeNat().map((id) => new Handle(id)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(fc.constantFrom('id', '__proto__', 'constructor', 'a-b'), tie('value')), { maxLength: 4 })
      .map(record),
  ),
}));
const bytes = fc.uint8Array({ maxLength: 60 });
const id = fc.maxSafeNat();
const spent = fc.record({ fuel: id, memoryBytes: id, hostCalls: id });
const limited = {
  limits: fc.record({ fuel: id, outputBytesMax: id, hostCallsMax: id }),
  wasi: fc.record({
    timeNs: fc.bigInt({ min: 0n, max: 2n ** 63n }),
    seed: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  }),
};
const requests: fc.Arbitrary<Request> = fc.oneof(
  fc.record({ kind: fc.constant('load' as const), id, artifact: id, bytes }),
  fc.record({ kind: fc.constant('unload' as const), id, artifact: id }),
  fc.record({ kind: fc.constant('fold' as const), id, artifact: id, ...limited, state: bytes, events: bytes }),
  fc.record({
    kind: fc.constant('call' as const),
    id,
    artifact: id,
    ...limited,
    bound: fc.constantFrom('main' as const, 'batch' as const, 'query' as const),
    isFresh: fc.boolean(),
    values: fc.array(values),
  }),
  fc.record({
    kind: fc.constant('publish' as const),
    id,
    options: fc.record({
      kind: fc.constantFrom('state-view' as const, 'presenter' as const),
      limits: fc.constant(DEFAULT_LIMITS),
      functionName: fc.string({ minLength: 1 }),
      sample: fc.array(values),
      smoke: fc.record(limited),
    }),
    bytes,
  }),
);
const answers: fc.Arbitrary<Answer> = fc.oneof(
  fc.constant({ kind: 'ready' as const }),
  fc.record({ kind: fc.constant('value' as const), id, spent, value: values }),
  fc.record({
    kind: fc.constant('fault' as const),
    id,
    spent,
    fault: fc.record({ code: fc.constantFrom(...FAULT_CODES), message: fc.string() }),
  }),
);

describe('messages', () => {
  it('are decoded as they were encoded', () => {
    const calls = fc.record({ interfaceName: fc.string(), functionName: fc.string(), values: fc.array(values) });
    const results = fc.oneof(
      fc.record({ kind: fc.constant('value' as const), value: values }),
      fc.record({ kind: fc.constant('failed' as const), message: fc.string() }),
    );
    fc.assert(
      fc.property(requests, answers, calls, results, (request, answer, call, result) => {
        expect(decodeRequest(whole(request))).toEqual(request);
        expect(decodeAnswer(encodeAnswer(answer))).toEqual(answer);
        expect(decodeHostCall(encodeHostCall(request.id, call))).toEqual({ id: request.id, call });
        expect(decodeHostResult(encodeHostResult(result))).toEqual(result);
      }),
    );
  });

  it('are decoded from any bytes without an exception', () => {
    const readers = [decodeAnswer, decodeHostCall, decodeHostResult, decodeRequest];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (frame) => {
        expect(() => readers.map((reader) => reader(frame))).not.toThrow();
      }),
      { numRuns: 2000 },
    );
  });

  it('have at most 64 levels of lists', () => {
    const nested = (depth: number): Value => (depth === 0 ? [] : [nested(depth - 1)]);
    expect(readBack(nested(63)).failed).toBe(false);
    expect(readBack(nested(64)).failed).toBe(true);
  });

  it('give names of records no special meaning', () => {
    const { value } = readBack(record([['__proto__', [1]]]));
    expect(Object.getPrototypeOf(value)).toBeNull();
    expect(value).toEqual(record([['__proto__', [1]]]));
  });

  it('never contain a resource of a guest', () => {
    const own = new Handle(1, { handles: {}, destroy: () => undefined });
    expect(() => writeValue(new ByteWriter(), own)).toThrow('stays in its process');
  });
});

it('FrameReader assembles frames from pieces of any size', () => {
  fc.assert(
    fc.property(fc.array(bytes), fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1 }), (frames, sizes) => {
      const stream = Buffer.concat(frames.flatMap((frame) => [frameHead(frame.length), frame]));
      const heard: Uint8Array[] = [];
      const reader = new FrameReader(100, (frame) => heard.push(frame));
      for (let at = 0, i = 0; at < stream.length; i++) {
        const size = sizes[i % sizes.length] ?? 1;
        expect(reader.push(stream.subarray(at, at + size))).toBe(true);
        at += size;
      }
      expect(heard).toEqual(frames);
    }),
  );
});

it('FrameReader stops when a frame is too long', () => {
  const heard: Uint8Array[] = [];
  const reader = new FrameReader(100, (frame) => heard.push(frame));
  expect(reader.push(frameHead(100))).toBe(true);
  expect(new FrameReader(100, (frame) => heard.push(frame)).push(frameHead(101))).toBe(false);
  expect(heard).toEqual([]);
});

function whole(request: Request): Uint8Array {
  return new Uint8Array(Buffer.concat(encodeRequest(request)));
}

function readBack(value: Value): { readonly value: Value; readonly failed: boolean } {
  const writer = new ByteWriter();
  writeValue(writer, value);
  return read(writer.take());
}

function read(encoded: Uint8Array): { readonly value: Value; readonly failed: boolean } {
  const reader = new ByteReader(encoded);
  return { value: readValue(reader), failed: reader.failed };
}

// Goal: frames are sent whole or in pieces, and their memory is released afterwards (T2). Method: a server stream that
// writes given frames.
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Call } from '../../../../src/transport/grpc/wire/call.ts';
import { frame, PIECE_BYTES } from '../../../../src/transport/grpc/wire/framing.ts';
import { RawGrpc } from '../../../support/raw-grpc.ts';
import { startWireServer, type WireFixture } from '../../../support/wire-server.ts';

interface Written {
  readonly frames: readonly Uint8Array[];
  readonly isWatched: boolean;
}

const GIVEN_BACK_BYTES = 4096;

let fixture: WireFixture;
let raw: RawGrpc;
let next: Written;

beforeEach(async () => {
  const handle = async (call: Call): Promise<void> => {
    call.begin();
    for (const frames of next.frames) {
      const hold = call.account().takeAnyway(frames.length, () => undefined);
      if (next.isWatched) hold.watch();
      call.write(frames, 1, hold);
    }
    await call.drained();
  };
  fixture = await startWireServer({
    methods: [{ kind: 'server_stream', service: 'test.Service', name: 'Write', handle }],
  });
  raw = new RawGrpc(fixture.port);
});

afterEach(async () => {
  raw.session.destroy();
  await fixture[Symbol.asyncDispose]();
});

async function received(written: Written): Promise<Buffer> {
  next = written;
  const { body, status } = await raw.call({ path: '/test.Service/Write', pieces: [frame(Buffer.from('go'))] });
  expect(status).toBe(0);
  return body;
}

it('frames are sent unchanged and in order, whole and in pieces (T2)', async () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 3 * PIECE_BYTES }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(lengths, fc.boolean(), async (all, isWatched) => {
      const frames = all.map((length, n) => Uint8Array.from(frame(new Uint8Array(length).fill(n + 1))));
      const expected = Buffer.concat(frames);
      expect((await received({ frames, isWatched })).equals(expected)).toBe(true);
      // The frames belong to the call, which releases large ones.
      expect(frames.every(({ length }) => length < GIVEN_BACK_BYTES)).toBe(true);
    }),
    { numRuns: 30 },
  );
});

it('frames in a larger buffer are released as well', async () => {
  const frames = new Uint8Array(20_000).subarray(0, 10_000);
  frames.set(frame(new Uint8Array(9_995)));
  expect(await received({ frames: [frames], isWatched: false })).toHaveLength(10_000);
  expect([frames.length, frames.buffer.byteLength]).toEqual([0, 0]);
});

it('frames in a shared buffer are not released', async () => {
  const pooled = frame(Uint8Array.of(1, 2, 3));
  expect([...(await received({ frames: [pooled], isWatched: false }))]).toEqual([...pooled]);
  expect(pooled.length).toBe(8);
});

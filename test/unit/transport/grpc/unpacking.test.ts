// Goal: compressed messages that are much longer unpacked need at most the memory of a few messages of maximum length
// (TM1). Method: many messages of one kind, with counted memory.
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Room } from '../../../../src/transport/grpc/wire/call-stream.ts';
import { type Sender, Unpacker } from '../../../../src/transport/grpc/wire/unpacking.ts';

const BYTES_MAX = 100_000;
const AT_ONCE = 2;
const PACKED = gzipSync(new Uint8Array(BYTES_MAX));

class World {
  readonly unpacker = new Unpacker();
  held = 0;
  most = 0;
  readonly begun: string[] = [];

  sender(name: string, connection: object): Sender & { end(): void } {
    const rooms: Room[] = [];
    let isGone = false;
    return {
      connection,
      messageBytesMax: BYTES_MAX,
      get isGone() {
        return isGone;
      },
      deliver: (bytes) => {
        this.begun.push(name);
        this.held += bytes;
        this.most = Math.max(this.most, this.held);
        return true;
      },
      keep: (room) => void rooms.push(room),
      refuse: () => expect.unreachable(),
      end: () => {
        isGone = true;
        for (const room of rooms) room.release();
      },
    };
  }

  async unpack(sender: Sender): Promise<unknown> {
    const unpacked = await this.unpacker.unpack(PACKED, 'gzip', sender);
    if (typeof unpacked === 'string') return unpacked;
    this.held -= BYTES_MAX;
    return unpacked.length;
  }
}

describe('compressed messages', () => {
  let world: World;
  const one = {};
  const other = {};

  beforeEach(() => {
    world = new World();
  });

  it('are unpacked a few at a time, each with memory for the maximum length', async () => {
    const all = Array.from({ length: 20 }, (_, at) => world.unpack(world.sender(`${at}`, at % 3 === 0 ? one : other)));
    expect(new Set(await Promise.all(all))).toEqual(new Set([BYTES_MAX]));
    expect(world.most).toBe(AT_ONCE * BYTES_MAX);
  });

  it('are unpacked by connection in turn', async () => {
    const many = Array.from({ length: 10 }, (_, at) => world.unpack(world.sender(`one ${at}`, one)));
    const few = world.unpack(world.sender('other', other));
    await Promise.all([...many, few]);
    expect(world.begun.slice(0, AT_ONCE + 2)).toContain('other');
  });

  it('are dropped when their stream has ended', async () => {
    const senders = Array.from({ length: 6 }, (_, at) => world.sender(`${at}`, one));
    const all = senders.map((sender) => world.unpack(sender));
    for (const sender of senders.slice(1, -1)) sender.end();
    expect(await Promise.all(all)).toEqual([BYTES_MAX, 'gone', 'gone', 'gone', 'gone', BYTES_MAX]);
    expect(world.begun).toEqual(['0', '5']);
  });
});

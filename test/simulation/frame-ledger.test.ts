/**
 * Tests FrameLedger: it detects received frames that differ from the sent ones, go to a wrong node, or arrive twice or
 * too late.
 */
import { describe, expect, it } from 'vitest';
import { ByteWriter, toNodeId } from '#base';
import { beginFrame, nativeCrc32, type PeerIdentity, toStoreId } from '#cluster';
import { FrameLedger } from './peers/frame-ledger.ts';

const CLUSTER = '0f7c1c58-7b1e-4b8a-9a51-3a3c1f6d2b10';
const NORTH: PeerIdentity = { node: toNodeId(1), store: toStoreId('1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed') };
const SOUTH: PeerIdentity = { node: toNodeId(2), store: toStoreId('2c5ea4c0-4067-41e9-8bad-9b1deb4d3b7d') };
const SOUTH_ANEW: PeerIdentity = { ...SOUTH, store: toStoreId('3d813cbb-47fb-42ba-91df-831e1593ac29') };

function frameOf(word: number, from: PeerIdentity = NORTH, to: PeerIdentity = SOUTH): Uint8Array {
  const writer = new ByteWriter();
  beginFrame(writer, { clusterId: CLUSTER, from, to });
  writer.u32le(word);
  return writer.take();
}

class Stage {
  readonly ledger = new FrameLedger();

  sends(lane: 'appends' | 'beats', ...frames: readonly Uint8Array[]): void {
    for (const frame of frames) {
      this.ledger.offered(nativeCrc32(frame));
      this.ledger.taken(lane, frame, nativeCrc32(frame));
    }
  }

  hears(lane: 'appends' | 'beats', frame: Uint8Array, self = SOUTH): string | undefined {
    return this.ledger.heard(lane, frame, nativeCrc32(frame), self);
  }
}

describe('the ledger of frames', () => {
  const [one, two, three] = [frameOf(1), frameOf(2), frameOf(3)] as const;

  it('accepts frames in order, some of which are lost with a connection', () => {
    const stage = new Stage();
    stage.sends('appends', one, two, three);
    expect([stage.hears('appends', one), stage.hears('appends', three)]).toEqual([undefined, undefined]);
  });

  it('finds a frame with a flipped bit', () => {
    const stage = new Stage();
    stage.sends('appends', one);
    const turned = one.slice();
    turned[77] = 64;
    expect(stage.hears('appends', turned)).toBe('changed');
  });

  it('finds a frame that arrives twice, or after one that was sent later', () => {
    const stage = new Stage();
    stage.sends('appends', one, two, three);
    const heard = [two, one, two, three].map((frame) => stage.hears('appends', frame));
    expect(heard).toEqual([undefined, 'out of order', 'out of order', undefined]);
  });

  it('checks each lane and direction separately', () => {
    const stage = new Stage();
    const back = frameOf(4, SOUTH, NORTH);
    stage.sends('appends', one, two);
    stage.sends('beats', three);
    stage.sends('appends', back);
    expect([
      stage.hears('beats', three),
      stage.hears('appends', back, NORTH),
      stage.hears('appends', one),
      stage.hears('beats', two),
    ]).toEqual([undefined, undefined, undefined, 'out of order']);
  });

  it('finds a frame that is delivered at another node, or at another store of its node', () => {
    const stage = new Stage();
    stage.sends('appends', one, two);
    expect([stage.hears('appends', one, NORTH), stage.hears('appends', two, SOUTH_ANEW)]).toEqual(['astray', 'astray']);
  });

  it('does not expect a frame that a lane has refused', () => {
    const stage = new Stage();
    stage.ledger.offered(nativeCrc32(one));
    expect(stage.hears('appends', one)).toBe('out of order');
  });
});

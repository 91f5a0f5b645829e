// Compares the frames that lanes deliver with those that were sent: each must be unchanged, arrive at the right node,
// and arrive at most once and in order per lane and direction (src/cluster/peer/links.ts). It reads headers according
// to docs/formats/peer-frames.md.
import type { Lane, PeerIdentity } from '#cluster';

/** `changed` is allowed when the node refuses the frame. */
export type FrameFlaw = 'changed' | 'astray' | 'out of order';

const FROM_AT = 28;
const TO_AT = 52;
const PLACES_END = 76;

export class FrameLedger {
  readonly #digests = new Set<number>();
  /** Frames accepted by a lane and neither delivered nor overtaken, oldest first. */
  readonly #ways = new Map<string, number[]>();

  /** Records a frame that is passed to a lane. */
  offered(digest: number): void {
    this.#digests.add(digest);
  }

  /** Records that the lane has accepted it. */
  taken(lane: Lane, frame: Uint8Array, digest: number): void {
    const way = wayOf(lane, frame);
    const digests = this.#ways.get(way);
    if (digests === undefined) this.#ways.set(way, [digest]);
    else digests.push(digest);
  }

  /** Checks a frame that a lane delivers at this node and store. */
  heard(lane: Lane, frame: Uint8Array, digest: number, self: PeerIdentity): FrameFlaw | undefined {
    if (!this.#digests.has(digest)) return 'changed';
    if (textOf(frame, TO_AT, PLACES_END) !== placeText(self)) return 'astray';
    const digests = this.#ways.get(wayOf(lane, frame)) ?? [];
    const at = digests.indexOf(digest);
    if (at < 0) return 'out of order';
    digests.splice(0, at + 1);
    return undefined;
  }
}

function wayOf(lane: Lane, frame: Uint8Array): string {
  return `${lane} ${textOf(frame, FROM_AT, PLACES_END)}`;
}

function textOf(frame: Uint8Array, from: number, to: number): string {
  return Buffer.from(frame.buffer, frame.byteOffset + from, to - from).toString('latin1');
}

function placeText({ node, store }: PeerIdentity): string {
  const bytes = Buffer.alloc(PLACES_END - TO_AT);
  bytes.writeBigUInt64LE(BigInt(node));
  bytes.set(Buffer.from(store.replaceAll('-', ''), 'hex'), 8);
  return bytes.toString('latin1');
}

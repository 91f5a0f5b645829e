// Holds what lanes hand on against what they were given: each frame as it was sent, to whom it is for, and those of a
// lane from one node to another in their order, each once (src/cluster/peer/links.ts). Reads headers by
// docs/formats/peer-frames.md.
import type { Lane, NodePlace } from '#cluster';

/** `changed` is no harm where the frame is refused. */
export type FrameFlaw = 'changed' | 'astray' | 'out of order';

const FROM_AT = 28;
const TO_AT = 52;
const PLACES_END = 76;

export class FrameLedger {
  readonly #digests = new Set<number>();
  /** Given to a lane and neither heard nor overtaken, oldest first. */
  readonly #ways = new Map<string, number[]>();

  /** A lane is given the frame. */
  offered(digest: number): void {
    this.#digests.add(digest);
  }

  /** The lane has taken it. */
  taken(lane: Lane, frame: Uint8Array, digest: number): void {
    const way = wayOf(lane, frame);
    const digests = this.#ways.get(way);
    if (digests === undefined) this.#ways.set(way, [digest]);
    else digests.push(digest);
  }

  /** A lane hands the frame on, at this place. */
  heard(lane: Lane, frame: Uint8Array, digest: number, self: NodePlace): FrameFlaw | undefined {
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

function placeText({ node, store }: NodePlace): string {
  const bytes = Buffer.alloc(PLACES_END - TO_AT);
  bytes.writeBigUInt64LE(BigInt(node));
  bytes.set(Buffer.from(store.replaceAll('-', ''), 'hex'), 8);
  return bytes.toString('latin1');
}

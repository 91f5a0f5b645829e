/** Every bound of the links between nodes. */
import type { Lane } from '#cluster';

export interface PeerLimits {
  /** Bytes of frames to one node that wait in a lane; 32 MiB for a node in all. */
  readonly laneBytesMax: Readonly<Record<Lane, number>>;
  /** Every connection is pinged so often, and given up when it does not answer for so long. */
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
  /** A connection on which nothing has arrived by then is closed. */
  readonly silentMs: number;
  /** A handshake of TLS that is not over by then is given up; so many are under way, and begin in a second. */
  readonly handshakeMs: number;
  readonly handshakesMax: number;
  readonly handshakesPerSecondMax: number;
  /** Pauses between attempts to connect: the first, growing to the last, each with some chance in it. */
  readonly backoffFirstMs: number;
  readonly backoffLastMs: number;
  /** How long what was taken may take to leave when the links are closed. */
  readonly flushMs: number;
  /** Streams that others may have open to this node at a time. */
  readonly streamsMax: number;
  /** Nodes outside the catalog that may have streams here at a time, and that are dialled. */
  readonly guestsMax: number;
  /** Time between two notes of the same kind about the same node. */
  readonly noteEveryMs: number;
}

const MEBIBYTE = 2 ** 20;

export const PEER_LIMITS: PeerLimits = {
  laneBytesMax: { beats: 4 * MEBIBYTE, appends: 20 * MEBIBYTE, bulk: 8 * MEBIBYTE },
  pingEveryMs: 5_000,
  pingTimeoutMs: 5_000,
  silentMs: 5_000,
  handshakeMs: 5_000,
  handshakesMax: 64,
  handshakesPerSecondMax: 100,
  backoffFirstMs: 100,
  backoffLastMs: 3_000,
  flushMs: 500,
  streamsMax: 1_024,
  guestsMax: 16,
  noteEveryMs: 60_000,
};

/** Every bound of the links between nodes. */
import type { Lane } from '#cluster';

export interface PeerLimits {
  /** Maximum bytes of frames to one node that wait in a lane; 32 MiB for a node in all. */
  readonly laneBytesMax: Readonly<Record<Lane, number>>;
  /** Interval and timeout of pings on every connection. */
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
  /** Time in which a new connection must send something. */
  readonly silentMs: number;
  /** A TLS handshake ends after this time; the others limit concurrent handshakes, and new ones in a second. */
  readonly handshakeMs: number;
  readonly handshakesMax: number;
  readonly handshakesPerSecondMax: number;
  /** Pauses between attempts to connect, randomized: the first, growing to the last. */
  readonly backoffFirstMs: number;
  readonly backoffLastMs: number;
  /** Time to send accepted frames when the links are closed. */
  readonly flushMs: number;
  /** Maximum number of streams of others to this node. */
  readonly streamsMax: number;
  /** Maximum number of nodes outside the catalog that have streams here, and that are dialled. */
  readonly guestsMax: number;
  /** Interval between notes of the same kind about the same node. */
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

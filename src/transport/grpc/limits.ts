/** Every bound of the gRPC server, by name. */
import { TRANSACTION_BYTES_MAX, TRANSACTION_EVENTS_MAX } from '#model';
import { STREAM_BYTES } from './wire/call-stream.ts';
import { STREAMS_MAX } from './wire/connections.ts';
import type { WireLimits } from './wire/parts.ts';

/** Tags, lengths, constraints and options around the events of the largest transaction; a generous estimate. */
const AROUND_EVENTS_BYTES = 1024 * TRANSACTION_EVENTS_MAX;

export const GRPC_LIMITS: Omit<WireLimits, 'callsMax'> = {
  // Slightly too large transactions are still read, to refuse them with a reason; far too large ones are not.
  requestBytesMax: 2 * TRANSACTION_BYTES_MAX + AROUND_EVENTS_BYTES,
  streamsPerConnectionMax: 128,
  lastingStreamsMax: 1_000,
  openingMs: 10_000,
  connectionsMax: 16_384,
  pingEveryMs: 60_000,
  pingTimeoutMs: 20_000,
  receiveMs: 60_000,
  lingerMs: 60_000,
};

/** Longest request of health and reflection, which need no credential. */
export const OPEN_REQUEST_BYTES_MAX = 1024;

/**
 * Calls at a time, by the streams that fit into memory (ADR 0015). Long calls have half of them, so that other calls
 * find a free stream soon.
 */
export function callPlaces(streamBytesMax: number): WireLimits['callsMax'] {
  const streams = Math.min(STREAMS_MAX, Math.floor(streamBytesMax / STREAM_BYTES));
  const eighth = Math.floor(streams / 8);
  return { waiting: 3 * eighth, reading: eighth };
}

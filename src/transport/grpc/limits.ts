/** Every bound of the gRPC server, by name. */
import { TRANSACTION_BYTES_MAX, TRANSACTION_EVENTS_MAX } from '#model';
import type { WireLimits } from './wire/server.ts';

/** Tags, lengths, constraints and options around the events of the largest transaction; more than any of them takes. */
const AROUND_EVENTS_BYTES = 1024 * TRANSACTION_EVENTS_MAX;

export const GRPC_LIMITS: WireLimits = {
  // Somewhat too large transactions are still read, so that they are refused with a reason; far too large ones are not.
  requestBytesMax: 2 * TRANSACTION_BYTES_MAX + AROUND_EVENTS_BYTES,
  streamsPerConnectionMax: 1000,
  streamsAtFirst: 128,
  // Those that wait, and the streams of the service (SERVICE_LIMITS) with some left for HTTP.
  callsMax: { waiting: 10_000, reading: 8_000, working: 20_000 },
  pingEveryMs: 60_000,
  pingTimeoutMs: 20_000,
  receiveMs: 60_000,
  lingerMs: 60_000,
};

/** Bounds of the MCP endpoint (TC3). */

const MIB = 2 ** 20;

/** Bytes of a body: a component of 64 MiB in base64, and the members around it. */
export const BODY_BYTES_MAX: number = 88 * MIB;
/** Bytes of a body with several messages. The arguments of each may have 300,000 values, which its tool parses. */
export const BATCH_BYTES_MAX: number = MIB;
/**
 * Values in the JSON of a body, the arguments of a tool counted as one: thirty million empty objects fit into a body,
 * and would cost gigabytes, and a minute of the thread that all clients share.
 */
export const BODY_VALUES_MAX: number = 2 ** 17;
/** Bytes of an answer of the HTTP API to a tool. A longer one is refused, and the tool explains how to ask for less. */
export const ANSWER_BYTES_MAX: number = 4 * MIB;
/** Bytes of its headers: a redirect repeats the query, which may be as long as the HTTP API allows. */
export const ANSWER_HEADER_BYTES_MAX: number = 256 * 1024;
/** Time limit for an answer of the HTTP API, longer than each of its own. */
export const API_TIMEOUT_MS: number = 120_000;
/** Sessions at a time. One more ends the idlest. */
export const SESSIONS_MAX = 1_000;
/** Sessions of one principal when requests are authenticated; the idlest ends for one more. */
export const SESSIONS_PER_PRINCIPAL_MAX = 100;
/** Idle time after which a session ends. */
export const SESSION_IDLE_MS: number = 30 * 60_000;
/** Time that a request waits for `notifications/initialized`, which may arrive after it. */
export const INITIALIZED_WAIT_MS = 250;
/** Messages that a session keeps for a client that reconnects, and their bytes. */
export const KEPT_MESSAGES_MAX = 64;
export const KEPT_BYTES_MAX: number = MIB;
/** Concurrent connections; one more replaces the longest waiting (ADR 0015). */
export const CONNECTIONS_MAX = 1_000;
/** Timeouts for the headers of a request, and for all of it. */
export const HEADERS_MS = 10_000;
export const REQUEST_MS = 120_000;
/** Minimum rate of a body; the last bytes have as long. */
export const BODY_PACE_BYTES: number = 16 * 1024;
export const BODY_PACE_MS = 15_000;
export const HEADER_BYTES_MAX: number = 16 * 1024;

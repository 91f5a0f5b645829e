/** Bounds of requests over HTTP, and their reasons. */
import { COMMAND_BODY_BYTES_MAX, QUERY_LIMIT_MAX, TRANSACTION_BYTES_MAX, TRANSACTION_EVENTS_MAX } from '#model';

/** JSON spells one byte of a string with at most six (`\u0000`). */
const JSON_BYTES_PER_BYTE_MAX = 6;

/** Member names, punctuation and line breaks of one event. */
const JSON_FRAME_BYTES_PER_EVENT = 1024;

/** Constraints and other members beside the events. */
const JSON_ENVELOPE_BYTES = 512 * 1024;

/**
 * Bytes of a body with a transaction. Every transaction within the limits of the specification fits, however its JSON
 * is spelled (TH6), unless most of it is white space.
 */
export const TRANSACT_BODY_BYTES_MAX: number =
  JSON_BYTES_PER_BYTE_MAX * TRANSACTION_BYTES_MAX +
  JSON_FRAME_BYTES_PER_EVENT * TRANSACTION_EVENTS_MAX +
  JSON_ENVELOPE_BYTES;

/** Bytes of a body that is a command, or describes it with method and path. */
export const COMMAND_REQUEST_BYTES_MAX: number = COMMAND_BODY_BYTES_MAX + 64 * 1024;

/** Bytes of any other body: a query with the largest selector, spelled at length. */
export const BODY_BYTES_MAX: number = 512 * 1024;

/**
 * Bytes and fields of a form of a page. A form has ten fields at most; the page of a refusal repeats what was typed.
 */
export const FORM_BYTES_MAX: number = 256 * 1024;
export const FORM_FIELDS_MAX = 32;

/** Bytes of request line and headers together, so that `q` can carry the largest selector in a URL. */
export const HEADER_BYTES_MAX: number = 128 * 1024;

/** Headers of a request. Node reports only that one of the two limits was exceeded. */
export const HEADERS_MAX = 1_000;

/** Bytes of the stored events of a page. It ends before the event that would exceed them, unless that is its first. */
export const PAGE_BYTES_MAX: number = 8 * 1024 * 1024;

/** Lengths of the lists of a rendering. */
export interface ListSizes {
  readonly itemsDefault: number;
  readonly itemsMax: number;
  /** Bytes of the stored events of a page. */
  readonly bytesMax: number;
}

export const JSON_SIZES: ListSizes = { itemsDefault: 100, itemsMax: QUERY_LIMIT_MAX, bytesMax: PAGE_BYTES_MAX };

/**
 * The same for TOON, whose readers read a few thousand tokens at a time and about 15,000 at most, and which takes
 * thirty times as long to write. A larger limit counts as the largest.
 */
export const TOON_SIZES: ListSizes = { itemsDefault: 50, itemsMax: 250, bytesMax: 64 * 1024 };

/** The same for HTML, whose readers look at dozens at a time. */
export const HTML_SIZES: ListSizes = { itemsDefault: 50, itemsMax: 500, bytesMax: 64 * 1024 };

/** Events counted for the changes between two revisions, within the bytes of a page. */
export const CHANGED_EVENTS_MAX = 10_000;

/** Bytes of a state that a page shows or compares. A longer one has only its own URL. */
export const STATE_SHOWN_BYTES_MAX: number = 64 * 1024;

/** Bytes of the reply to one transaction or one event, as stored and as text. */
export const ITEM_ANSWER_BYTES: number = 4 * TRANSACTION_BYTES_MAX;

/**
 * The same for a page of events, reserved before the page is read. With long names and short events it takes more; the
 * text itself is counted in the end.
 */
export const PAGE_ANSWER_BYTES: number = 2 * PAGE_BYTES_MAX;

/** Bytes of a small reply, which has a budget of its own when there is no room for the largest. */
export const SMALL_ANSWER_BYTES: number = 64 * 1024;

/** Bytes of JSON parsed or written in one turn of the event loop, which takes about 2 ms (TH11). */
export const PIECE_BYTES: number = 64 * 1024;

/** Requests of a connection that wait for the one before them. One more ends the connection after the last of them. */
export const PIPELINED_MAX = 64;

/**
 * Minimum pace of a body of more than 16 KiB: 8 KiB in three seconds. A slower request is refused, because its bytes
 * occupy memory. Networks in use are faster. In three seconds a lost packet can be sent again a few times.
 */
export const BODY_PACE_BYTES: number = 8 * 1024;
export const BODY_PACE_MS = 3_000;

/**
 * Time and bytes for which a client may send after a reply that ends its connection. The input is dropped. A client may
 * send a body of several times the limit before it reads.
 */
export const LINGER_MS = 10_000;
export const LINGER_BYTES_MAX: number = 64 * 1024 * 1024;

/** Period of probes to a client that closed its sending side and waits for a reply. */
export const PRESENCE_ASK_MS = 250;

/** Time for a smaller body to be complete. */
export const SMALL_BODY_MS = 15_000;

/** Time for a request, and for its headers, to be complete. A slower client gets an error and is disconnected. */
export const REQUEST_TIMEOUT_MS = 60_000;
export const HEADERS_TIMEOUT_MS = 10_000;

/** Connections at a time. One more evicts the connection that has been idle longest (ADR 0015). */
export const CONNECTIONS_MAX = 4_096;
/**
 * Average bytes that chunks of a body must have once it has more than this many. A chunk of one byte costs six on the
 * wire, and as much work as one of a thousand.
 */
export const BODY_SMALL_PIECES_MAX = 1_024;
export const BODY_PIECE_BYTES = 16;

/**
 * The head of a body that is generated: first this many bytes are collected, then the end or a pause is awaited, up to
 * the times and bytes below (SPEC-HTTP-R11).
 */
export const BODY_HEAD_BYTES: number = 64 * 1024;
export const BODY_PAUSE_MS = 20;
export const BODY_SETTLE_MS = 100;
export const BODY_SETTLING_BYTES: number = 256 * 1024;

/** Bytes of a body that is sent in chunks. */
export const STREAMED_BYTES_MAX: number = 256 * 1024 * 1024;
export const STREAMED_MS_MAX = 60_000;

/** The same for HTTP/1.0, for which the whole body is held. */
export const BUFFERED_BYTES_MAX: number = 16 * 1024 * 1024;
export const BUFFERED_MS_MAX = 25_000;

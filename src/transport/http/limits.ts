/**
 * The numbers that bound a request over HTTP, and why they are what they are.
 */
import { COMMAND_BODY_BYTES_MAX, QUERY_LIMIT_MAX, TRANSACTION_BYTES_MAX, TRANSACTION_EVENTS_MAX } from '#model';

/** JSON spells one byte of a string with at most six (`\u0000`). */
const JSON_BYTES_PER_BYTE_MAX = 6;

/** Member names, punctuation and line breaks of one event. */
const JSON_FRAME_BYTES_PER_EVENT = 1024;

/** Constraints and what is stored beside the events. */
const JSON_ENVELOPE_BYTES = 512 * 1024;

/**
 * Bytes of a body that carries a transaction. Every transaction within the limits of the specification fits, however
 * its JSON is spelled (TH6), as long as it is not blown up by white space alone.
 */
export const TRANSACT_BODY_BYTES_MAX: number =
  JSON_BYTES_PER_BYTE_MAX * TRANSACTION_BYTES_MAX +
  JSON_FRAME_BYTES_PER_EVENT * TRANSACTION_EVENTS_MAX +
  JSON_ENVELOPE_BYTES;

/** Bytes of a body that is a command, or says one with its method and path. */
export const COMMAND_REQUEST_BYTES_MAX: number = COMMAND_BODY_BYTES_MAX + 64 * 1024;

/** Bytes of any other body: a query with the largest selector, spelled at length. */
export const BODY_BYTES_MAX: number = 512 * 1024;

/**
 * Bytes of a form of a page, whose fields are typed by somebody and shown again where one is wrong, and fields of one,
 * which have ten names at most.
 */
export const FORM_BYTES_MAX: number = 256 * 1024;
export const FORM_FIELDS_MAX = 32;

/** Bytes of request line and headers together, so that `q` can carry the largest selector in a URL. */
export const HEADER_BYTES_MAX: number = 128 * 1024;

/** Headers of a request. Node says no more than that one of the two limits was passed. */
export const HEADERS_MAX = 1_000;

/** Events or names of a page when the request names no limit, and the largest limit. */
export const PAGE_SIZE_DEFAULT = 100;
export const PAGE_SIZE_MAX: number = QUERY_LIMIT_MAX;

/** Bytes of the stored events of a page: it ends before the event that would pass them, unless that is its first. */
export const PAGE_BYTES_MAX: number = 8 * 1024 * 1024;

/**
 * The same of a page of TOON, whose readers read some thousand tokens at a time and some 15,000 at most, and which
 * takes thirty times as long to write. A larger limit counts as the largest.
 */
export const TOON_PAGE_SIZE_DEFAULT = 50;
export const TOON_PAGE_SIZE_MAX = 250;
export const TOON_PAGE_BYTES_MAX: number = 64 * 1024;

/** The same of a page of HTML, whose readers look at some dozens at a time. */
export const HTML_PAGE_SIZE_DEFAULT = 50;
export const HTML_PAGE_SIZE_MAX = 500;
export const HTML_PAGE_BYTES_MAX: number = 64 * 1024;

/** Events in which is counted what has changed between two revisions, of as many bytes as a page. */
export const CHANGED_EVENTS_MAX = 10_000;

/** Transactions on a side of one that are searched for what belongs to it, within the bytes of a page; those told. */
export const RELATED_TRANSACTIONS_MAX = 1_000;
export const RELATED_MAX = 16;

/** Bytes of a state that is shown on a page, as it is or beside another; a longer one is rendered by itself. */
export const STATE_SHOWN_BYTES_MAX: number = 64 * 1024;

/** Bytes that the answer to one transaction or one event may take, as stored and as text. */
export const ITEM_ANSWER_BYTES: number = 4 * TRANSACTION_BYTES_MAX;

/**
 * The same of a page of events; waited for before the page is read. More where names are long and events short, for
 * which the text itself is counted in the end.
 */
export const PAGE_ANSWER_BYTES: number = 2 * PAGE_BYTES_MAX;

/** Bytes of an answer that is small: where there is no room for the largest, it is made in a room of its own. */
export const SMALL_ANSWER_BYTES: number = 64 * 1024;

/** Bytes of events or of a body that are turned from or into JSON in one go: about two milliseconds (TH11). */
export const PIECE_BYTES: number = 64 * 1024;

/**
 * Requests of a connection that wait for the ones before them; one more ends the connection behind the last of them.
 */
export const PIPELINED_MAX = 64;

/**
 * A body of more than 16 KiB brings at least so many bytes in so much time, or its request is refused: what it has
 * brought is held, and not for somebody who has stopped sending. So much any link of today carries, and the largest
 * body must be much faster to be whole in time; three seconds are a few resends of a packet that was lost.
 */
export const BODY_PACE_BYTES: number = 8 * 1024;
export const BODY_PACE_MS = 3_000;

/**
 * What a client goes on sending behind an answer that ends its connection is read and dropped for so long, and up to so
 * many bytes: enough for one that sends a body of some times what is allowed before it reads.
 */
export const LINGER_MS = 10_000;
export const LINGER_BYTES_MAX: number = 64 * 1024 * 1024;

/** How often a client that has ended its side of the connection is asked whether it is there, while it waits. */
export const PRESENCE_ASK_MS = 250;

/** The same of a smaller body: all of it in so much time. */
export const SMALL_BODY_MS = 15_000;

/** A client that has not sent its whole request by then is answered and dropped; or its headers. */
export const REQUEST_TIMEOUT_MS = 60_000;
export const HEADERS_TIMEOUT_MS = 10_000;

/** How often it is looked who has been too slow. */
export const TIMEOUT_LOOK_MS = 1_000;

export { KEEP_ALIVE_TIMEOUT_MS } from '../http-connections.ts';

/** Connections at a time; one more replaces the one that has waited longest (ADR 0015). */
export const CONNECTIONS_MAX = 4_096;
/**
 * More chunks of a body than this have so many bytes on average, or the request is refused: a chunk of one byte costs
 * six on the wire and as much work as one of a thousand.
 */
export const BODY_SMALL_PIECES_MAX = 1_024;
export const BODY_PIECE_BYTES = 16;

/**
 * The head of a body that is still being made: so much is collected, then its end or a pause is waited for, so long in
 * all, and up to so much (SPEC-HTTP-R11).
 */
export const BODY_HEAD_BYTES: number = 64 * 1024;
export const BODY_PAUSE_MS = 20;
export const BODY_SETTLE_MS = 100;
export const BODY_SETTLING_BYTES: number = 256 * 1024;

/** The most of a body that is sent as it is made. */
export const STREAMED_BYTES_MAX: number = 256 * 1024 * 1024;
export const STREAMED_MS_MAX = 60_000;

/** The same for a client of HTTP/1.0, for which it is held whole. */
export const BUFFERED_BYTES_MAX: number = 16 * 1024 * 1024;
export const BUFFERED_MS_MAX = 25_000;

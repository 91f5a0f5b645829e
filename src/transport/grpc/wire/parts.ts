/** Settings and listeners of a server, which its connections, streams and calls share. */
import type { X509Certificate } from 'node:crypto';
import type { Http2Session } from 'node:http2';
import type { Address, ErrorLog } from '#base';
import type { ByteBudgets } from '../../byte-budgets.ts';
import type { Waiting } from '../../connection-places.ts';
import type { SecurePorts } from '../../secure.ts';
import type { FrameFault } from './frame-reader.ts';
import type { CallKind } from './method-traits.ts';
import type { RequestHeaders } from './request-headers.ts';
import type { CallStatus, Fields } from './status.ts';

export interface WireLimits {
  /** Maximum length of a request message, also decompressed, unless a method sets its own. */
  readonly requestBytesMax: number;
  /** Streams of a connection at a time, as announced (T12): at first, and once half of them are calls that may last. */
  readonly streamsPerConnectionMax: number;
  readonly lastingStreamsMax: number;
  /** A client that has not acknowledged its settings by then is disconnected. */
  readonly openingMs: number;
  /** Connections at a time. One more replaces the connection that has waited longest for a whole request. */
  readonly connectionsMax: number;
  /** Calls of each kind that may last, on all connections, which share them (T9). */
  readonly callsMax: Readonly<Record<CallKind, number>>;
  readonly pingEveryMs: number;
  /** Timeout of a ping. The connection is then destroyed, which cancels its calls. */
  readonly pingTimeoutMs: number;
  /** Time for a request to arrive; and time after its end for a reply to be accepted. */
  readonly receiveMs: number;
  readonly lingerMs: number;
}

export interface Refusals {
  readonly draining: CallStatus;
  /** For a call of a connection that has used its share of the kind. */
  readonly tooManyCalls: (kind: CallKind, count: number) => CallStatus;
  /** For a call that was ended for a connection with far fewer of the kind; `count`: those of its own connection. */
  readonly displaced: (kind: CallKind, count: number) => CallStatus;
  /** For a request or a reply without room. */
  readonly noRoom: CallStatus;
  readonly malformed: (fault: FrameFault) => CallStatus;
  /** For a call whose deadline passed before it began. */
  readonly late: CallStatus;
  /** For a call whose deadline has passed, by its timeout. */
  readonly expired: (timeout: string) => CallStatus;
}

/** A call of which only the headers have arrived. */
export interface Opening {
  readonly headers: RequestHeaders;
  /** Address of its client; undefined when it has disconnected. */
  readonly client: Address | undefined;
  /** Certificate of the client; undefined when it presented none. */
  readonly certificate: X509Certificate | undefined;
}

/** While a promise is pending the message is received. */
export type RefusalOf = (opening: Opening) => CallStatus | Promise<CallStatus | undefined> | undefined;

/**
 * `flood`: too many streams; `pieces`: too many small pieces of requests; `headers`: far too many headers of one
 * request; `frames`: far more frames than its requests need. Refusals of nghttp2 are neither logged nor counted: it
 * refuses the GOAWAY of last stream 2^31-1 by which grpc-go closes connections, and Node does not say which frame it
 * was.
 */
export type EndReason = 'flood' | 'pieces' | 'headers' | 'frames';

export type EndedConnection = Pick<Http2Session, 'destroyed' | 'socket'>;

export interface WireParts extends Pick<ByteBudgets, 'requests' | 'streams' | 'unsent' | 'small'> {
  readonly limits: WireLimits;
  /** The statuses of calls that the server itself refuses or ends. */
  readonly refusals: Refusals;
  /** Absent: there is no TLS. */
  readonly secure?: SecurePorts | undefined;
  /** Minimum length of reply messages to compress for clients that accept it; undefined: none is compressed. */
  readonly gzipBytesMin?: number | undefined;
  /** The answer to a call by its headers alone; undefined: it continues. */
  readonly refusalOf?: RefusalOf | undefined;
  /** Adapts trailers to the authority of the request; undefined: all clients get the same. */
  readonly trailersFor?: (<T extends Fields>(authority: string | undefined, trailers: T) => T) | undefined;
  readonly logger: ErrorLog;
  /** Called for every call that is refused before its handler sees it. */
  readonly onRefused: (why: 'overload' | 'draining' | 'malformed' | 'too_large') => void;
  /** Called before a connection is ended because of the behaviour of its client. */
  readonly onConnectionEnded: (why: EndReason, connection: EndedConnection) => void;
  /** Called for a connection that is closed for a new one. */
  readonly onDisplaced?: (waiting: Waiting) => void;
}

/** The headers of a call. */
import type { IncomingHttpHeaders } from 'node:http2';
import { isPacking, type Packing } from './frame-faults.ts';
import type { Fields } from './status.ts';

/** Headers for the gRPC server, not for the handler of the call. */
const NOT_METADATA: readonly string[] = [
  'grpc-timeout',
  'grpc-encoding',
  'grpc-accept-encoding',
  'accept-encoding',
  'te',
  'content-type',
];
const PRINTABLE = /^[\x20-\x7e]*$/;

/**
 * A client may have sent some of them more than once. node:http2 keeps only the first `authorization` and its like, and
 * joins other values. It reports the headers as sent when it passes the stream on, which may be after the request.
 */
export class RequestHeaders {
  /** The headers as node:http2 gives them, which identify the call. */
  readonly known: IncomingHttpHeaders;
  /** Undefined once the stream was handed on. */
  #handedOn: PromiseWithResolvers<void> | 'awaited' | undefined = 'awaited';
  /** Names and values alternating; absent: each was sent once. */
  #raw: readonly string[] | undefined;

  constructor(known: IncomingHttpHeaders) {
    this.known = known;
  }

  get path(): string {
    return this.known[':path'] ?? '';
  }

  /** The compression of messages that the request names. */
  get encoding(): string | undefined {
    const encoding = this.known['grpc-encoding'];
    return typeof encoding === 'string' ? encoding : undefined;
  }

  /** The same, if it is supported. */
  get packing(): Packing | undefined {
    const { encoding } = this;
    return isPacking(encoding) ? encoding : undefined;
  }

  /** Everything that the client sent with it. */
  get metadata(): Fields {
    return Object.fromEntries(
      Object.entries(this.known).filter(
        ([name, value]) => !name.startsWith(':') && !NOT_METADATA.includes(name) && PRINTABLE.test(String(value)),
      ),
    );
  }

  /** A text header, by its lowercase name. */
  text(name: string): string | undefined {
    const value = this.known[name];
    return typeof value === 'string' && PRINTABLE.test(value) ? value : undefined;
  }

  /** Undefined: it is known already which headers are repeated. */
  get untilKnown(): Promise<void> | undefined {
    if (this.#handedOn === 'awaited') this.#handedOn = Promise.withResolvers();
    return this.#handedOn?.promise;
  }

  /** The names and values in `raw` are those from which the headers were made. */
  handOn(raw: readonly string[]): void {
    const pairs = raw.length / 2;
    if (pairs > Object.keys(this.known).length) this.#raw = raw;
    const waiting = this.#handedOn;
    this.#handedOn = undefined;
    if (waiting !== 'awaited') waiting?.resolve();
  }

  /** True when there are repeated headers. */
  get hasRepeated(): boolean {
    return this.#raw !== undefined;
  }

  /**
   * All values of a repeated header, by its lowercase name; none if it was sent once. A cookie may be split (RFC 9113,
   * 8.2.3).
   */
  repeated(name: string): readonly string[] {
    if (this.#raw === undefined || name === 'cookie') return [];
    const values = this.#raw.filter((_value, at, raw) => at % 2 === 1 && raw[at - 1] === name);
    return values.length > 1 ? values : [];
  }
}

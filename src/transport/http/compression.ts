/**
 * Compresses replies for clients that accept gzip (RFC 9110, 12.5.3), when the setting is on.
 *
 * ```
 *   a long text ── accepted, and a thread is free ──> gzip in the pool ── at most half as long ──> gzip
 *      └── short, or a stream   └── not accepted, or no free thread ───────── longer ──────────────> unchanged
 * ```
 *
 * No reply waits for a thread, as in gRPC (ADR 0085). Both forms have the same weak ETag. `Vary` names the header also
 * when the reply is sent uncompressed.
 *
 * Streams and relayed replies are not compressed.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { giveBack } from '#base';
import { GZIP_AT_ONCE, gzipped } from '../gzip.ts';
import type { HttpMemory } from './memory.ts';
import type { HttpReply } from './reply.ts';

/** Overhead of gzip for a body of this size that does not compress. */
const OVERHEAD_BYTES = 64;
const OVERHEAD_PER_BODY = 1 / 1_000;

const TEXT = /^(?:text\/|application\/(?:json|javascript|xml)\b|[\w.+-]+\/[\w.+-]+\+(?:json|xml)\b)/i;
const VARIES: HttpReply['headers'] = { vary: 'accept-encoding' };
const NO_HEADERS: HttpReply['headers'] = {};
const NOT_MODIFIED = 304;

/** Wish of a client; `required`: it accepts nothing but gzip. */
export type GzipWish = 'refused' | 'accepted' | 'required';

type Packing = Promise<Buffer | undefined>;

export class Compression {
  readonly #bytesMin: number;
  readonly #memory: HttpMemory;
  #running = 0;

  /** Bodies shorter than `bytesMin` are not compressed. */
  constructor(bytesMin: number, memory: HttpMemory) {
    this.#bytesMin = bytesMin;
    this.#memory = memory;
  }

  /** `Vary` of a reply that another client may get compressed. A 304 has that of its full reply. */
  varies(answer: HttpReply): HttpReply['headers'] {
    return answer.status === NOT_MODIFIED || textOf(answer) !== undefined ? VARIES : NO_HEADERS;
  }

  /**
   * Returns the compressed body, or undefined when the reply is to be sent unchanged. The body must not change until
   * the promise resolves. Never rejects.
   */
  pack(request: FastifyRequest, reply: FastifyReply, answer: HttpReply): Packing | undefined {
    const body = textOf(answer);
    if (body === undefined || body.length === 0 || this.#running >= GZIP_AT_ONCE) return undefined;
    const wish = gzipWish(request.headers['accept-encoding']?.toString());
    if (wish === 'refused' || (wish === 'accepted' && body.length < this.#bytesMin)) return undefined;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const { length } = bytes;
    const overhead = OVERHEAD_BYTES + Math.ceil(length * OVERHEAD_PER_BODY);
    const bytesMax = wish === 'required' ? length + overhead : Math.floor(length / 2);
    if (!this.#memory.tryPack(reply, bytesMax)) return undefined;
    this.#running += 1;
    return this.#packed(reply, bytes, bytesMax);
  }

  async #packed(reply: FastifyReply, body: Buffer, bytesMax: number): Packing {
    const packed = await gzipped(body, bytesMax);
    this.#running -= 1;
    this.#memory.packed(reply, packed?.length ?? body.length);
    if (packed !== undefined) giveBack(body);
    return packed;
  }
}

/** The body, if it may be compressed: text that is not encoded yet, without a strong ETag. */
function textOf({ body, stream, contentType, headers }: HttpReply): string | Buffer | undefined {
  if (body === undefined || stream !== undefined || !TEXT.test(contentType ?? '')) return undefined;
  // A reply with `no-store` may contain a secret, about which its compressed length would reveal something.
  const isKept = headers['cache-control'] !== 'no-store';
  const isWeak = headers['etag']?.startsWith('W/') ?? true;
  return isKept && isWeak && headers['content-encoding'] === undefined ? body : undefined;
}

const QUALITY = /^\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*$/i;

/**
 * Reads `Accept-Encoding`. gzip must be named or covered by `*`; the uncompressed form is accepted by default.
 * Unreadable parts are ignored.
 */
export function gzipWish(header: string | undefined): GzipWish {
  const weights = weightsOf(header ?? '');
  const any = weights.get('*');
  const packed = weights.get('gzip') ?? any ?? 0;
  if (packed === 0) return 'refused';
  const plain = weights.get('identity') ?? any;
  if (plain === 0) return 'required';
  return plain !== undefined && plain > packed ? 'refused' : 'accepted';
}

function weightsOf(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.split(',')) {
    const [coding = '', ...parameters] = part.split(';');
    const [quality] = parameters.length === 0 ? ['1'] : (QUALITY.exec(parameters.join(';'))?.slice(1) ?? []);
    const name = coding.trim().toLowerCase();
    // The older name of gzip (RFC 9110, 8.4.1.3).
    if (name !== '' && quality !== undefined) weights.set(name === 'x-gzip' ? 'gzip' : name, Number(quality));
  }
  return weights;
}

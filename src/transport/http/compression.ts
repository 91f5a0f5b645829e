/**
 * Compressed answers, for clients that accept gzip (RFC 9110, 12.5.3), where the node is told to.
 *
 * ```
 *   a body of text, long enough ── accepted, and a thread free ──> gzip in the pool ── half as long ──> gzip
 *      └── short, or a stream           └── not, or nobody is free ─────────────────────── longer ────> as it was
 * ```
 *
 * It is an offer, as that of gRPC (ADR 0085), and nothing waits for it. A weak tag is of what an answer says, so it is
 * the same for both forms; caches are told of each answer that has two (`Vary`), also when it has left as it was.
 *
 * Not here: streams, which leave as they are made, and answers of other nodes, which pass as they are.
 */
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { giveBack } from '#base';
import type { HttpMemory } from './memory.ts';
import type { HttpReply } from './reply.ts';

/** They share the threads of the pool with the writes of the store. */
const AT_ONCE = 2;

/** The quickest: what it saves is most of what there is to save. */
const LEVEL = 1;

/** Head and trailer of gzip, and what deflate adds to what it cannot make shorter, for a body of this size. */
const OVERHEAD_BYTES = 64;
const OVERHEAD_PER_BODY = 1 / 1_000;

const TEXT = /^(?:text\/|application\/(?:json|javascript|xml)\b|[\w.+-]+\/[\w.+-]+\+(?:json|xml)\b)/i;
const VARIES: HttpReply['headers'] = { vary: 'accept-encoding' };
const NO_HEADERS: HttpReply['headers'] = {};
const NOT_MODIFIED = 304;

/** Of a client: `required` when it takes nothing else. */
export type GzipWish = 'refused' | 'accepted' | 'required';

export interface CompressionParts {
  /** Bodies that are shorter are left alone. */
  readonly bytesMin: number;
  readonly memory: HttpMemory;
}

type Packing = Promise<Buffer | undefined>;

export class Compression {
  readonly #bytesMin: number;
  readonly #memory: HttpMemory;
  #running = 0;

  constructor({ bytesMin, memory }: CompressionParts) {
    this.#bytesMin = bytesMin;
    this.#memory = memory;
  }

  /** What is said of an answer that another client might get in another form; of 304 what is said of the answer. */
  varies(answer: HttpReply): HttpReply['headers'] {
    return answer.status === NOT_MODIFIED || textOf(answer) !== undefined ? VARIES : NO_HEADERS;
  }

  /**
   * The body in its other form, or undefined, at once or later: it is to be sent as it is. It must stay as it is until
   * then, and nobody looks at one that was replaced. Never rejects.
   */
  pack(request: FastifyRequest, reply: FastifyReply, answer: HttpReply): Packing | undefined {
    const body = textOf(answer);
    if (body === undefined || body.length === 0 || this.#running >= AT_ONCE) return undefined;
    const wish = gzipWish(request.headers['accept-encoding']?.toString());
    if (wish === 'refused' || (wish === 'accepted' && body.length < this.#bytesMin)) return undefined;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const bytesMax = wish === 'required' ? withOverhead(bytes.length) : Math.floor(bytes.length / 2);
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

/** The body of an answer that has another form: it is text, and nobody has encoded it, or said that nobody may. */
function textOf({ body, stream, contentType, headers }: HttpReply): string | Buffer | undefined {
  if (body === undefined || stream !== undefined || !TEXT.test(contentType ?? '')) return undefined;
  // What nobody may keep may have a secret, such as a key, whose length is not to be told by that of what it becomes.
  const isKept = headers['cache-control'] !== 'no-store';
  const isWeak = headers['etag']?.startsWith('W/') ?? true;
  return isKept && isWeak && headers['content-encoding'] === undefined ? body : undefined;
}

function withOverhead(bytes: number): number {
  return bytes + OVERHEAD_BYTES + Math.ceil(bytes * OVERHEAD_PER_BODY);
}

/** Undefined: it has no such form within so many bytes, or there is no memory for it. */
function gzipped(body: Buffer, bytesMax: number): Packing {
  return new Promise((resolve) => {
    gzip(body, { level: LEVEL, maxOutputLength: bytesMax }, (error, packed) => {
      resolve(error === null ? packed : undefined);
    });
  });
}

const QUALITY = /^\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*$/i;

/**
 * What `Accept-Encoding` says of gzip. What nothing is said of is accepted as it is; gzip must be named, or be among
 * `*`. What cannot be read says nothing.
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
    // The older name of the same (RFC 9110, 8.4.1.3).
    if (name !== '' && quality !== undefined) weights.set(name === 'x-gzip' ? 'gzip' : name, Number(quality));
  }
  return weights;
}

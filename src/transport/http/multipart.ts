/** Reads multipart bodies of `curl -F`, browsers and common libraries: parts in any order, of any content type. */
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { cut, type DatabaseError, messageOf, NO_BYTES } from '#base';
import { assertNotEncoded } from './body.ts';
import { invalidField } from './errors.ts';
import type { HttpRequest } from './request.ts';

/** Bytes of the parts by name, as views of the body. */
export type Parts = ReadonlyMap<string, Uint8Array>;

const RULE = 'must be multipart/form-data with a boundary';
/** Parts of any kind, also unnamed ones. Each costs the parser streams and listeners. */
const PARTS_MAX = 32;
/** Bytes parsed in one turn of the event loop (TH11). */
const SLICE_BYTES = 4096;
/** Bytes and headers of the head of a part; clients send far fewer. */
const PART_HEADERS_MAX = 32;
const PART_HEADER_BYTES_MAX = 16_384;
/** Characters of the name of an ignored part in a message. */
const NAME_SHOWN_MAX = 100;

/**
 * Returns the parts `names`, each of which must occur once. Other parts are ignored: a form sends its button, too.
 * @throws DatabaseError invalid_argument
 */
export async function readParts(request: HttpRequest, names: readonly string[]): Promise<Parts> {
  assertNotEncoded(request);
  const contentType = request.header('content-type');
  if (contentType === undefined) throw invalidField('Content-Type', `${RULE}; it is missing`);
  if (!/^multipart\/form-data\s*(?:;|$)/i.test(contentType)) throw invalidField('Content-Type', RULE, contentType);
  const parts = await parsed(request.body(), contentType, names);
  for (const name of names) if (!parts.has(name)) throw missing(name, parts, names);
  return parts;
}

async function parsed(body: Uint8Array, contentType: string, names: readonly string[]): Promise<Parts> {
  const parts = new Map<string, Uint8Array>();
  const reading: Promise<unknown>[] = [];
  let fault: DatabaseError | undefined;
  const busboy = parserOf(contentType);
  busboy.on('file', (name: string, stream: Readable) => {
    const isRead = names.includes(name);
    if (isRead && parts.has(name)) fault ??= invalidField(name, 'must be sent once');
    parts.set(name, NO_BYTES);
    const read = isRead ? collected(stream, body).then((part) => parts.set(name, part)) : finished(stream.resume());
    reading.push(read.catch(broken));
  });
  busboy.on('partsLimit', () => {
    fault ??= invalidField('body', `must have ${names.length} parts: ${names.join(', ')}`, {
      said: `${PARTS_MAX} or more`,
    });
  });
  // The stream of the part, or the parser, reports a truncated part.
  await pipeline(Readable.from(slices()), busboy).catch(broken);
  await Promise.all(reading);
  if (fault !== undefined) throw fault;
  return parts;

  /** At a fault the parser is ended like a truncated body, so that no stream stays open. */
  async function* slices(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < body.length; at += SLICE_BYTES) {
      if (fault !== undefined) return;
      yield body.subarray(at, at + SLICE_BYTES);
      await nextTurn();
    }
  }

  function broken(cause: unknown): void {
    fault ??= invalidField('body', `must be multipart/form-data: ${messageOf(cause)}`);
  }
}

function parserOf(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      // Whatever its content type, a part is bytes with a name.
      isPartAFile: () => true,
      limits: { parts: PARTS_MAX, headerPairs: PART_HEADERS_MAX, headerSize: PART_HEADER_BYTES_MAX },
    });
  } catch (cause) {
    throw invalidField('Content-Type', `${RULE}: ${messageOf(cause)}`, contentType);
  }
}

function missing(name: string, parts: Parts, names: readonly string[]): DatabaseError {
  const ignored = [...parts.keys()].filter((part) => !names.includes(part));
  const others =
    ignored.length === 0 ? '' : `; ignored: ${ignored.map((part) => cut(part, NAME_SHOWN_MAX)).join(', ')}`;
  return invalidField(name, `is required as a part of the body${others}`);
}

/**
 * The bytes of a part. They are contiguous in the body, so the first piece locates the part, which is then a view: long
 * parts are not copied.
 */
async function collected(stream: Readable, body: Uint8Array): Promise<Uint8Array> {
  const loose: Buffer[] = [];
  let byteCount = 0;
  let start: number | undefined;
  for await (const piece of stream) {
    if (!(piece instanceof Buffer)) continue;
    // The parser copies the last bytes of a slice while they may begin a boundary.
    if (isWithin(piece, body)) start ??= piece.byteOffset - body.byteOffset - byteCount;
    if (start === undefined) loose.push(Buffer.from(piece));
    byteCount += piece.length;
  }
  return start === undefined ? Buffer.concat(loose) : body.subarray(start, start + byteCount);
}

function isWithin(piece: Uint8Array, body: Uint8Array): boolean {
  const from = piece.byteOffset - body.byteOffset;
  return piece.buffer === body.buffer && from >= 0 && from + piece.length <= body.length;
}

/**
 * Bodies of several parts, as `curl -F`, browsers and the usual libraries send them: in any order, with file names or
 * without, with any content type of a part, or none.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { DatabaseError } from '#base';
import { invalidField } from './errors.ts';
import type { HttpRequest } from './request.ts';

/** The bytes of the parts by their names. */
export type Parts = ReadonlyMap<string, Uint8Array>;

const RULE = 'must be multipart/form-data with a boundary';
/** What is read of the head of a part, and how many headers it may have: far more than any client sends. */
const PART_HEADERS_MAX = 32;
const PART_HEADER_BYTES_MAX = 16_384;

/**
 * Every one of `names`, each once, and nothing else.
 * @throws DatabaseError invalid_argument
 */
export async function readParts(request: HttpRequest, names: readonly string[]): Promise<Parts> {
  const contentType = request.header('content-type');
  if (contentType === undefined) throw invalidField('Content-Type', `${RULE}; it is missing`);
  if (!/^multipart\/form-data\s*(?:;|$)/i.test(contentType)) throw invalidField('Content-Type', RULE, contentType);
  const parts = await parsed(request.body(), { contentType, names });
  for (const name of names) if (!parts.has(name)) throw invalidField(name, 'is required as a part of the body');
  return parts;
}

interface Expected {
  readonly contentType: string;
  readonly names: readonly string[];
}

async function parsed(body: Uint8Array, { contentType, names }: Expected): Promise<Parts> {
  const parts = new Map<string, Uint8Array>();
  const reading: Promise<unknown>[] = [];
  let fault: DatabaseError | undefined;
  const busboy = parserOf(contentType, names.length);
  busboy.on('file', (name: string, stream: Readable) => {
    fault ??= refusalOf(name, { names, isKnown: parts.has(name) });
    parts.set(name, NO_BYTES);
    const read = collected(stream).then((bytes) => parts.set(name, bytes), broken);
    reading.push(read);
  });
  busboy.on('filesLimit', () => {
    fault ??= invalidField('body', `must have ${names.length} parts: ${names.join(', ')}`);
  });
  // A part that is cut off is told by its own stream, or by the whole.
  await pipeline(Readable.from([body]), busboy).catch(broken);
  await Promise.all(reading);
  if (fault !== undefined) throw fault;
  return parts;

  function broken(cause: unknown): void {
    fault ??= invalidField('body', `must be multipart/form-data: ${messageOf(cause)}`);
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

const NO_BYTES = new Uint8Array(0);

function parserOf(contentType: string, filesMax: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      // Whatever it is said to be: a part is bytes under a name.
      isPartAFile: () => true,
      limits: { files: filesMax, headerPairs: PART_HEADERS_MAX, headerSize: PART_HEADER_BYTES_MAX },
    });
  } catch (cause) {
    throw invalidField('Content-Type', `${RULE}: ${messageOf(cause)}`, contentType);
  }
}

function refusalOf(
  name: string,
  { names, isKnown }: { readonly names: readonly string[]; readonly isKnown: boolean },
): DatabaseError | undefined {
  if (!names.includes(name)) return invalidField(name, `is no part of the body: it has ${names.join(' and ')}`);
  return isKnown ? invalidField(name, 'must be sent once') : undefined;
}

async function collected(stream: Readable): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) if (chunk instanceof Buffer) chunks.push(chunk);
  return Buffer.concat(chunks);
}

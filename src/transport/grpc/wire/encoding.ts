/**
 * Compression of single messages.
 *
 * A request may come as gzip or deflate; what it unpacks to is bounded before it is unpacked (T3). A reply is
 * compressed when the client compresses too (`grpc-encoding: gzip`) and accepts gzip, and then only messages that are
 * long enough to gain from it. zlib works on its own threads: no call holds up another.
 */
import { promisify } from 'node:util';
import { constants, gunzip, gzip, type InputType, inflate, type ZlibOptions } from 'node:zlib';
import { failure, ok, type Result } from '#base';

export const ACCEPTED_ENCODINGS = 'identity,deflate,gzip';

/** Shorter messages are sent as they are. */
export const COMPRESSED_BYTES_MIN = 1024;

type Unpack = (input: InputType, options: ZlibOptions) => Promise<Buffer>;

const UNPACK: ReadonlyMap<string, Unpack> = new Map<string, Unpack>([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
]);
const pack: (input: InputType, options: ZlibOptions) => Promise<Buffer> = promisify(gzip);

export type UnpackFault = 'unknown-encoding' | 'too-long' | 'malformed';

/** The message as it was before it was compressed. */
export async function unpackMessage(
  message: Uint8Array,
  options: { readonly encoding: string; readonly bytesMax: number },
): Promise<Result<Uint8Array, UnpackFault>> {
  const unpack = UNPACK.get(options.encoding);
  if (unpack === undefined) return failure('unknown-encoding');
  try {
    return ok(await unpack(message, { maxOutputLength: options.bytesMax }));
  } catch (error) {
    return failure(isTooLong(error) ? 'too-long' : 'malformed');
  }
}

/** Whether replies to a request with these headers are to be compressed. */
export function asksForGzip(headers: { readonly [name: string]: string | string[] | undefined }): boolean {
  if (headers['grpc-encoding'] !== 'gzip') return false;
  const accepted = headers['grpc-accept-encoding'];
  return typeof accepted === 'string' && accepted.split(',').some((name) => name.trim() === 'gzip');
}

export function packMessage(message: Uint8Array): Promise<Uint8Array> {
  return pack(message, { level: constants.Z_BEST_SPEED });
}

function isTooLong(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

// Request headers over the limits are refused with a message, or by a closed connection where HTTP/2 in Node.js does
// not pass them on.
import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { SENT_HEADER_LIMITS } from '../../scripts/support/limits-reference.ts';
import { HEAD_LIMITS } from '../../src/transport/grpc/wire/request-headers.ts';
import { sharedGrpcNode } from '../support/shared-servers.ts';

const { NGHTTP2_COMPRESSION_ERROR, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR } = constants;
const TOO_LARGE = '8';
/** Its Huffman code is longer than a byte, so HPACK sends it unencoded. */
const LONG_CODE = '~';
const CHUNK_BYTES = 5_000;

const { server } = await sharedGrpcNode();

interface Ending {
  readonly status: string | undefined;
  readonly reset: number;
  readonly goaway: number | undefined;
}

async function sent(headers: Record<string, string | string[]>): Promise<Ending> {
  const session = connect(`http://${server.grpc}`, { maxSendHeaderBlockLength: 10 ** 7 });
  let [status, goaway]: [string | undefined, number | undefined] = [undefined, undefined];
  session.on('error', () => undefined);
  session.on('goaway', (code) => {
    goaway = code;
  });
  // The server accepts fewer bytes of headers until its settings are acknowledged.
  await once(session, 'remoteSettings');
  const call = { ':method': 'POST', ':path': '/cairn.v1.EventStore/FetchCatalog', 'content-type': 'application/grpc' };
  const stream = session.request({ ...call, te: 'trailers', ...headers });
  stream.on('error', () => undefined);
  for (const event of ['response', 'trailers']) {
    stream.on(event, (fields: Record<string, string>) => {
      status = fields['grpc-status'] ?? status;
    });
  }
  stream.resume().end(Buffer.alloc(5));
  return new Promise((resolve) => {
    stream.on('close', () => {
      resolve({ status, reset: stream.rstCode, goaway });
      session.destroy();
    });
  });
}

/** Headers of this many bytes in total, each of which is within the limit for one header. */
function manyOf(bytes: number): Record<string, string> {
  const names = Array.from({ length: Math.floor(bytes / CHUNK_BYTES) }, (_, n) => `x-${n}`);
  return Object.fromEntries(names.map((name) => [name, LONG_CODE.repeat(CHUNK_BYTES)]));
}

describe('SPEC-GRPC-FRAMES', () => {
  it('headers of too many bytes are refused with a message, and above the limit of HTTP/2 the connection is closed', async () => {
    const { oneBytes, allBytes } = SENT_HEADER_LIMITS;
    const refused = { status: TOO_LARGE, goaway: undefined };
    expect(await sent({ 'x-one': LONG_CODE.repeat(oneBytes) })).toMatchObject(refused);
    const closed = await sent({ 'x-one': LONG_CODE.repeat(oneBytes + 1) });
    expect(closed).toMatchObject({ goaway: NGHTTP2_COMPRESSION_ERROR });
    expect(await sent(manyOf(allBytes))).toMatchObject(refused);
    expect(await sent(manyOf(allBytes + CHUNK_BYTES))).toMatchObject({ goaway: NGHTTP2_INTERNAL_ERROR });
  });

  it('a header may be repeated, and above 256 headers the connection is closed', async () => {
    // Six headers are always sent: four of HTTP/2, the content type, and te.
    const most = HEAD_LIMITS.headerPairsMax - 6;
    expect(await sent({ 'x-many': Array.from({ length: most }, () => 'a') })).toMatchObject({ status: '0', reset: 0 });
    const wanted = { status: undefined, goaway: NGHTTP2_ENHANCE_YOUR_CALM };
    expect(await sent({ 'x-many': Array.from({ length: most + 1 }, () => 'a') })).toMatchObject(wanted);
  });
});

// Headers over the limits are refused in words as far as HTTP/2 of Node passes them on.
import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { SENT_HEADER_LIMITS } from '../../scripts/support/limits-reference.ts';
import { HEAD_LIMITS } from '../../src/transport/grpc/wire/frame-faults.ts';
import { sharedGrpcNode } from '../support/shared-servers.ts';

const { NGHTTP2_COMPRESSION_ERROR, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_INTERNAL_ERROR } = constants;
const TOO_LARGE = '8';
/** Huffman's code for it is longer than a byte: HPACK sends it as it is. */
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
  // Before they are acknowledged less is held.
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

/** So many bytes in headers of which none is too long. */
function manyOf(bytes: number): Record<string, string> {
  const names = Array.from({ length: Math.floor(bytes / CHUNK_BYTES) }, (_, n) => `x-${n}`);
  return Object.fromEntries(names.map((name) => [name, LONG_CODE.repeat(CHUNK_BYTES)]));
}

describe('SPEC-GRPC-FRAMES', () => {
  it('headers of many bytes are refused in words, and beyond what HTTP/2 takes the connection is closed', async () => {
    const { oneBytes, allBytes } = SENT_HEADER_LIMITS;
    const refused = { status: TOO_LARGE, goaway: undefined };
    expect(await sent({ 'x-one': LONG_CODE.repeat(oneBytes) })).toMatchObject(refused);
    const closed = await sent({ 'x-one': LONG_CODE.repeat(oneBytes + 1) });
    expect(closed).toMatchObject({ goaway: NGHTTP2_COMPRESSION_ERROR });
    expect(await sent(manyOf(allBytes))).toMatchObject(refused);
    expect(await sent(manyOf(allBytes + CHUNK_BYTES))).toMatchObject({ goaway: NGHTTP2_INTERNAL_ERROR });
  });

  it('a header may come many times, and beyond 256 of all the connection is closed', async () => {
    // Beside the four of HTTP/2, the type, and te.
    const most = HEAD_LIMITS.headerPairsMax - 6;
    expect(await sent({ 'x-many': Array.from({ length: most }, () => 'a') })).toMatchObject({ status: '0', reset: 0 });
    const wanted = { status: undefined, goaway: NGHTTP2_ENHANCE_YOUR_CALM };
    expect(await sent({ 'x-many': Array.from({ length: most + 1 }, () => 'a') })).toMatchObject(wanted);
  });
});

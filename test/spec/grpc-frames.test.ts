// gRPC requests with malformed frames or headers are refused before their message is read (docs/errors.md, ADR 0181).
import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { GRPC_STATUS, type GrpcStatusName } from '../../src/transport/grpc/wire/status.ts';
import { connectWithHeader } from '../support/odd-headers.ts';
import { framed, prefix, RawGrpc, type RawReply, replyOn, richStatusOf } from '../support/raw-grpc.ts';
import { sharedGrpcNode } from '../support/shared-servers.ts';

const PATH = '/cairn.v1.EventStore/FetchCatalog';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const STREAM = '/cairn.v1.EventStore/QueryEvents';
const COMMAND = '/cairn.v1.EventStore/ExecuteStateChange';
/** Equals `GRPC_LIMITS.requestBytesMax`. */
const BYTES_MAX = 3_024_000;

interface Malformed {
  readonly what: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly pieces?: readonly Uint8Array[];
  readonly status: GrpcStatusName;
  /** The error code of Cairn; `invalid_argument` by default. */
  readonly code?: string;
  readonly message: string;
}

const { server, raw } = await sharedGrpcNode();

const EMPTY = framed(new Uint8Array(0));
const OF_NO_DATABASE = framed(Buffer.from('\n\x07nothing'));
const GZIP = { 'grpc-encoding': 'gzip' };
const MEDIA_RULE = 'must be application/grpc or application/grpc+proto';
const TIMEOUT = 'must be 1 to 8 digits and a unit of H, M, S, m, u or n, such as 500m';

const TIMEOUTS = ['5', '500 m', '-5S', '123456789S', 'S', '5S, 6S', ''];
const FORMS = ['application/grpc+', 'application/GRPC+Thrift', 'application/grpc+json; v=1'];
const NOT_GRPC = ['application/grpc-web+proto', 'application/grpcx', 'application/grpc/proto', 'text/application/grpc'];

type Row = readonly [what: string, sent: Omit<Malformed, 'what' | 'status' | 'message'>, GrpcStatusName, string];

const headed = (headers: Record<string, string>): Row[1] => ({ headers, pieces: [EMPTY] });
const tooLarge = (sent: Row[1]): Row[1] => ({ ...sent, code: 'too_large' });

const HEADERS: readonly Row[] = [
  ...TIMEOUTS.map((value): Row => {
    const message = `grpc-timeout ${TIMEOUT}; found ${JSON.stringify(value)}`;
    return [`the grpc-timeout "${value}"`, headed({ 'grpc-timeout': value }), 'INVALID_ARGUMENT', message];
  }),
  // grpc-js would drop such values.
  ...['x-min-revision', 'x-require-leader'].map((name): Row => {
    const message = `${name} must consist of printable ASCII characters; found "é"`;
    return [`the header ${name} in other letters`, headed({ [name]: 'é' }), 'INVALID_ARGUMENT', message];
  }),
  ...[
    ['x-min-revison', 'is unknown: use x-min-revision', PATH] as const,
    ['x-batch-id', 'is not taken here; taken are x-min-revision, x-require-leader', PATH] as const,
    ['x-last-seen-revision', 'is not taken here; taken are x-min-revision, x-require-leader', STREAM] as const,
    [
      'x-last-seen-revision',
      'is not taken here; taken are x-min-revision, x-require-leader, x-batch-id',
      COMMAND,
    ] as const,
  ].map(([name, rule, path]): Row => {
    return [
      `the header ${name}`,
      { path, ...headed({ [name]: '1' }) },
      'INVALID_ARGUMENT',
      `${name} ${rule}; found "1"`,
    ];
  }),
  ['another method', headed({ ':method': 'PUT' }), 'INVALID_ARGUMENT', ':method must be POST; found "PUT"'],
  ...FORMS.map((value): Row => {
    const message = `content-type ${MEDIA_RULE}, because messages are protobuf; found "${value}"`;
    return [`the form ${value} of messages`, headed({ 'content-type': value }), 'UNIMPLEMENTED', message];
  }),
  ...NOT_GRPC.map((value): Row => {
    const message = `content-type ${MEDIA_RULE}; found "${value}"`;
    return [`the media type ${value}`, headed({ 'content-type': value }), 'INVALID_ARGUMENT', message];
  }),
  [
    'an encoding that is not known',
    { headers: { 'grpc-encoding': 'snappy' }, pieces: [framed(Uint8Array.of(1, 2, 3), 1)] },
    'UNIMPLEMENTED',
    'grpc-encoding must be identity, deflate or gzip; found "snappy"',
  ],
];

const FRAMES: readonly Row[] = [
  [
    'a method that is not there',
    { path: '/cairn.v1.EventStore/Fetch%00', pieces: [EMPTY], code: 'unimplemented' },
    'UNIMPLEMENTED',
    'There is no method "/cairn.v1.EventStore/Fetch%00"; server reflection (grpc.reflection.v1) lists those that there are',
  ],
  ...[2, 7, 255].map(
    (flag): Row => [
      `a first byte of ${flag}`,
      { pieces: [framed(new Uint8Array(3), flag)] },
      'INVALID_ARGUMENT',
      `The first byte of a message must be 0, or 1 when it is compressed; found ${flag}`,
    ],
  ),
  [
    'a compressed message without grpc-encoding',
    { pieces: [framed(gzipSync(''), 1)] },
    'INTERNAL',
    'The first byte of the message is 1, for compressed, and grpc-encoding is absent; it must be gzip or deflate, or the first byte 0',
  ],
  [
    'what is no gzip',
    { headers: GZIP, pieces: [framed(Buffer.from('garbage'), 1)] },
    'INTERNAL',
    'The message is not valid gzip, its grpc-encoding: incorrect header check; send it so compressed, or with a first byte of 0',
  ],
  [
    'a message that is too long when it is unpacked',
    tooLarge({ headers: GZIP, pieces: [framed(gzipSync(Buffer.alloc(BYTES_MAX + 1)), 1)] }),
    'RESOURCE_EXHAUSTED',
    `The message has more than ${BYTES_MAX} bytes, the limit, after its gzip is decompressed`,
  ],
  [
    'headers that are longer than any',
    tooLarge({ headers: { 'x-long': 'x'.repeat(20_000) } }),
    'RESOURCE_EXHAUSTED',
    'The headers have 20129 bytes; they may have at most 16384',
  ],
  [
    'headers that are more than any',
    tooLarge({ headers: Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`x-${n}`, ''])) }),
    'RESOURCE_EXHAUSTED',
    'The request has 206 headers; it may have at most 128',
  ],
  [
    'a prefix beyond the limit',
    tooLarge({ pieces: [prefix(BYTES_MAX + 1)] }),
    'RESOURCE_EXHAUSTED',
    `The message has ${BYTES_MAX + 1} bytes by its prefix; it may have at most ${BYTES_MAX}`,
  ],
  [
    'no message',
    {},
    'UNIMPLEMENTED',
    'The method takes one message, and the request has ended without one; one without fields is five bytes of 0',
  ],
  [
    'a second message',
    { pieces: [framed(Uint8Array.of(0x08, 1)), EMPTY] },
    'UNIMPLEMENTED',
    'The method takes one message, and a second one begins after the first of 2 bytes; send one, and end the request',
  ],
  [
    'half of a message',
    { pieces: [prefix(100), new Uint8Array(40)] },
    'INVALID_ARGUMENT',
    'The request ends 40 bytes into a message of 100 bytes by its prefix; send it whole',
  ],
];

const MALFORMED: readonly Malformed[] = [
  ...HEADERS.map(([what, sent, status, message]) => {
    return { what, ...sent, status, message: `The headers are malformed: ${message}` };
  }),
  ...FRAMES.map(([what, sent, status, message]) => ({ what, ...sent, status, message })),
];

async function statusWith(name: string, value: string): Promise<number | undefined> {
  const odd = new RawGrpc(connectWithHeader(server.port, name, value));
  const { status } = await odd.call({ path: '/cairn.v1.EventStore/FetchLatestDatabase', pieces: [OF_NO_DATABASE] });
  await odd.close();
  return status;
}

function behindReply(...pieces: readonly Uint8Array[]): Promise<RawReply> {
  const stream = raw.session.request({ ':method': 'POST', ':path': REFLECTION, 'content-type': 'application/grpc' });
  stream.write(framed(Uint8Array.of(0x3a, 0)));
  stream.once('data', () => {
    for (const piece of pieces) stream.write(piece);
    stream.end();
  });
  return replyOn(stream);
}

describe('SPEC-GRPC-FRAMES, SPEC-GRPC-ERROR-DETAILS', () => {
  it.each(MALFORMED)('$what is refused', async ({ path = PATH, headers = {}, pieces = [], ...wanted }) => {
    const reply = await raw.call({ path, headers, pieces });
    expect([reply.status, reply.message]).toEqual([GRPC_STATUS[wanted.status], wanted.message]);
    expect(richStatusOf(reply)?.infos).toMatchObject([
      {
        reason: wanted.code ?? 'invalid_argument',
        metadata: wanted.code === 'unimplemented' ? {} : { reason: 'MalformedFrame' },
      },
    ]);
    const after = await raw.call({ path: PATH, pieces: [EMPTY] });
    expect(after.status).toBe(0);
  });

  it('half of a prefix is refused also after a reply', async () => {
    const reply = await behindReply(Uint8Array.of(0, 0, 0));
    const message = 'The request ends 3 bytes into the five-byte prefix of a message; send it completely';
    expect([reply.status, reply.message]).toEqual([GRPC_STATUS.INVALID_ARGUMENT, message]);
    expect(richStatusOf(reply)?.infos).toMatchObject([
      { reason: 'invalid_argument', metadata: { reason: 'MalformedFrame' } },
    ]);
    expect(reply.body.length).toBeGreaterThan(0);
  });

  it('names the known encodings when one is unknown', async () => {
    const headers = { 'grpc-encoding': 'br' };
    const reply = await raw.call({ path: PATH, headers, pieces: [framed(Uint8Array.of(1), 1)] });
    expect(reply.headers['grpc-accept-encoding']).toBe('identity,deflate,gzip');
    expect((await raw.call({ path: PATH, headers, pieces: [EMPTY] })).status).toBe(0);
  });

  it.each([
    ['text/html', 415, 'INVALID_ARGUMENT'],
    ['application/grpc-web', 415, 'INVALID_ARGUMENT'],
    ['application/grpc+json', 200, 'UNIMPLEMENTED'],
    ['Application/gRPC', 200, 'OK'],
    ['application/grpc+PROTO ;v=1', 200, 'OK'],
  ] as const)('answers the media type %s with %i of HTTP and %s', async (type, http, status) => {
    for (const path of [PATH, STREAM, REFLECTION]) {
      const pieces = [path === STREAM ? OF_NO_DATABASE : EMPTY];
      const reply = await raw.call({ path, headers: { 'content-type': type }, pieces });
      const expected = status === 'OK' && path === STREAM ? 'NOT_FOUND' : status;
      expect([path, reply.headers[':status'], reply.status]).toEqual([path, http, GRPC_STATUS[expected]]);
    }
  });

  it('stops a client that continues to send, without an error', async () => {
    const stream = raw.session.request({ ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc' });
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.on('error', () => undefined).resume();
    stream.write(Uint8Array.of(9));
    await closed;
    expect([stream.rstCode, stream.sentHeaders[':path']]).toEqual([0, PATH]);
  });

  it.each(['', ',', '5,5', '+5', 'five'])(
    'refuses x-min-revision "%s", and ignores one with blanks around it',
    async (value) => {
      expect(await statusWith('x-min-revision', value)).toBe(GRPC_STATUS.INVALID_ARGUMENT);
      expect(await statusWith('x-min-revision', ` ${value} `)).toBe(GRPC_STATUS.NOT_FOUND);
    },
  );

  it.each([
    ['gzip', gzipSync(new Uint8Array(0))],
    ['deflate', deflateSync(new Uint8Array(0))],
  ])('reads messages that %s has compressed', async (encoding, packed) => {
    const reply = await raw.call({ path: PATH, headers: { 'grpc-encoding': encoding }, pieces: [framed(packed, 1)] });
    expect(reply.status).toBe(0);
  });

  it.each(['596H', '597H', '99999999H', '35791M', '99999999m'])(
    'accepts a timeout of %s, even if it is very long',
    async (timeout) => {
      const reply = await raw.call({ path: PATH, headers: { 'grpc-timeout': timeout }, pieces: [EMPTY] });
      expect(reply.status).toBe(0);
    },
  );
});

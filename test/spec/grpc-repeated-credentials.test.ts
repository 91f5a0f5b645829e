// A credential that is sent twice over gRPC is refused, also when the request arrives before the connection is open
// (U2).
import { connect } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { CreateDatabaseRequest } from '../../proto/gen/cairn/v1/database.ts';
import { eventually } from '../support/eventually.ts';
import { AS_FIRST, FIRST_KEY, startGuardedNode } from '../support/guarded-node.ts';
import { uniqueName } from '../support/http-client.ts';
import { ACKNOWLEDGEMENT, dialFrames, frameOf, grpcHeaders, PREFACE, SETTINGS_FRAME } from '../support/http2-frames.ts';
import { framed, RawGrpc, type RawReply, richStatusOf } from '../support/raw-grpc.ts';
import { sharedGuardedNode } from '../support/shared-servers.ts';

const CREATE = '/cairn.v1.EventStore/CreateDatabase';
const [HEADERS, DATA, END_STREAM, END_HEADERS] = [1, 0, 1, 4];
const BEARER = `Bearer ${FIRST_KEY}`;
const guarded = await sharedGuardedNode();
const limited = await startGuardedNode('--rate-limit-per-second=100');

const creating = (name: string): Buffer =>
  framed(CreateDatabaseRequest.encode(CreateDatabaseRequest.fromPartial({ databaseName: name })).finish());

async function called(grpc: string, credentials: Readonly<Record<string, string | string[]>>): Promise<RawReply> {
  // Node.js refuses by default to send such a header twice.
  const options: object = { strictSingleValueFields: false };
  const client = new RawGrpc(connect(`http://${grpc}`, options));
  const headers = credentials as Record<string, string>;
  const reply = await client.call({ path: CREATE, headers, pieces: [creating(uniqueName())] });
  await client.close();
  return reply;
}

const REFUSED = 16;

describe.each([
  ['a node', guarded],
  ['one that limits how often', limited],
])('SPEC-AUTH-KEY over gRPC: %s', (_what, { server: { grpc }, api }) => {
  it.each([
    [{ authorization: BEARER }],
    [{ 'x-api-key': FIRST_KEY }],
    [{ authorization: BEARER, 'x-other': ['a', 'b'], cookie: ['a=1', 'b=2'] }],
  ])('a credential that is sent once is accepted: %j', async (credentials) => {
    expect((await called(grpc, credentials)).status).toBe(0);
  });

  it.each([
    ['the same', { authorization: [BEARER, BEARER] }],
    ['a wrong one behind a right one', { authorization: [BEARER, 'Bearer x'] }],
    ['nothing behind it', { authorization: [BEARER, ''] }],
    ['the same key', { 'x-api-key': [FIRST_KEY, FIRST_KEY] }],
    ['beside a key', { 'x-api-key': FIRST_KEY, authorization: [BEARER, BEARER] }],
  ])('a credential that is sent twice is refused: %s', async (_how, credentials) => {
    const reply = await called(grpc, credentials);
    expect([reply.status, reply.message]).toEqual([REFUSED, 'The credential of this request is not valid']);
    expect(richStatusOf(reply)?.infos[0]?.metadata).toMatchObject({ reason: 'CredentialRefused' });
  });

  it('a repeated credential is refused also when all frames arrive at once, before the connection is open', async () => {
    const statusOf = async (credentials: readonly string[]): Promise<number> => {
      const database = uniqueName();
      await using frames = await dialFrames(Number(grpc.split(':').at(-1)));
      const sent = credentials.map((value) => field('authorization', value));
      const block = Buffer.concat([grpcHeaders(CREATE), ...sent]);
      const head = frameOf({ type: HEADERS, flags: END_HEADERS, stream: 1, payload: block });
      const body = frameOf({ type: DATA, flags: END_STREAM, stream: 1, payload: creating(database) });
      frames.write(Buffer.concat([PREFACE, SETTINGS_FRAME, ACKNOWLEDGEMENT, head, body]));
      await eventually(() => {
        const answered = ({ type, flags }: { readonly type: number; readonly flags: number }): boolean =>
          type === HEADERS && (flags & END_STREAM) !== 0;
        expect(frames.received.some(answered)).toBe(true);
      });
      return (await api.get(`/databases/${database}`, AS_FIRST)).status;
    };
    expect([await statusOf([BEARER]), await statusOf([BEARER, 'Bearer x'])]).toEqual([200, 404]);
  });
});

/** The bytes of a literal header field with a name of less than 127 bytes (RFC 7541, 5.1). */
function field(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0, name.length), Buffer.from(name), Buffer.of(value.length), Buffer.from(value)]);
}

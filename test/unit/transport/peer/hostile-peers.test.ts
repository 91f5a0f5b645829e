// Goal: the peer port survives sockets that violate its protocol (TP3, TP4). Method: raw sockets with invalid bytes.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { LEVELS } from '#base';
import { type FrameFault, type FrameHeader, type JoinRequest, LANES } from '#cluster';
import { askForCluster, askToJoin, type PeerLimits } from '#transport/peer';
import {
  HERE,
  type Hello,
  RECORD_HEAD_BYTES,
  readAnswer,
  recordHead,
  writeAnswer,
  writeHello,
} from '../../../../src/transport/peer/lane-words.ts';
import { PING } from '../../../../src/transport/peer/peer-messages.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  ACKNOWLEDGEMENT,
  dialFrames,
  type Frames,
  frameOf,
  grpcHeaders,
  grpcHeadersWithTable,
  openFrames,
  PREFACE,
  SETTINGS_FRAME,
  TABLE_REFERENCE,
} from '../../../support/http2-frames.ts';
import { CLUSTER, LinkedNode, numbered, OTHER_CLUSTER, placeOf, QUICK } from '../../../support/peer-nodes.ts';

/** Length of the last field of the headers of gRPC. */
const CONTENT_TYPE_BYTES = 31;
const NORTH = placeOf(1);
const SOUTH = placeOf(2);
const TO_SOUTH: FrameHeader = { clusterId: CLUSTER, from: NORTH, to: SOUTH };
const stack: AsyncDisposable[] = [];
const nameless = { name: '', zone: '', grpc: '', http: '' };
const registration = {
  ...nameless,
  storeId: NORTH.store,
  peer: { host: 'north', port: 1 },
  levels: LEVELS,
  isLearner: false,
};
const JOIN_REQUEST: JoinRequest = { clusterId: CLUSTER, registration, release: '', run: 9 };

afterEach(async () => {
  await using ending = new AsyncDisposableStack();
  for (const each of stack.splice(0)) ending.use(each);
});

async function openSouth(limits: Partial<PeerLimits> = {}): Promise<LinkedNode> {
  const south = await LinkedNode.open(SOUTH, { limits: { ...QUICK, ...limits } });
  stack.push(south);
  south.links.setPeers([{ ...placeOf(7, 70), host: '127.0.0.1', port: 1 }]);
  return south;
}

interface Stranger {
  readonly socket: Socket;
  readonly answer: Promise<ReturnType<typeof readAnswer>>;
  readonly ended: Promise<number>;
}

function strangerAt(node: LinkedNode, said: Uint8Array): Stranger {
  const socket = connect(node.links.port, '127.0.0.1');
  socket.on('error', () => undefined);
  let heard = 0;
  socket.on('data', (bytes: Buffer) => {
    heard += bytes.length;
  });
  const answer = once(socket, 'data').then(([bytes]: Buffer[]) => readAnswer(bytes ?? new Uint8Array(0)));
  const ended = new Promise<number>((resolve) => void socket.once('close', () => resolve(heard)));
  answer.catch(() => undefined);
  stack.push({ [Symbol.asyncDispose]: async () => void socket.destroy() });
  socket.write(said);
  return { socket, answer, ended };
}

const hello = (header = TO_SOUTH, rest: Partial<Hello> = {}): Uint8Array =>
  writeHello({ header, lane: 'appends', run: 1, address: undefined, ...rest });

function changed(at: number, byte: number): Uint8Array {
  const bytes = hello();
  bytes[at] = byte;
  return bytes;
}

function record(bytes: Uint8Array): Buffer {
  return Buffer.concat([recordHead(bytes.length), bytes]);
}

describe('a stream', () => {
  it.each([
    ['no greeting', changed(1, 0x51), 'the stream has no greeting'],
    ['a later format', changed(4, 4), 'streams of format 4 are unknown here, 3 would be known'],
    ['an unknown lane', changed(5, 3), 'lane 3 is invalid: use 0 to 2'],
    ['a long address', changed(9, 5), 'its address is too long'],
    ['no header', changed(12, 0), 'bytes that do not begin with CPFR are no frame'],
    ['damage', changed(12 + 28, 0xff), 'the greeting is damaged'],
    [
      'another cluster',
      hello({ ...TO_SOUTH, clusterId: OTHER_CLUSTER }),
      `the sender belongs to the cluster ${OTHER_CLUSTER}, the receiver, node 2, to the cluster ${CLUSTER}`,
    ],
    ['another node', hello({ ...TO_SOUTH, to: placeOf(3) }), 'the sender means node 3, store'],
    ['a sender with another store', hello({ ...TO_SOUTH, from: placeOf(7) }), 'node 7 has store'],
  ])('is rejected with the fault of its greeting: %s (TP3)', async (_name, said, reason) => {
    const south = await openSouth();
    const { socket, answer } = strangerAt(south, said);
    socket.write(new Uint8Array(2000));
    expect(await answer).toEqual({ kind: 'refused', reason: expect.stringContaining(reason) });
    expect(south.observed.failed.received).toBe(1);
  });

  it('of HTTP/2 that is reset after rejected headers leaves the node running (TP4)', async () => {
    const south = await openSouth();
    const refused = [grpcHeaders('/absent'), grpcHeaders('/').subarray(0, -CONTENT_TYPE_BYTES)];
    const frames = refused.flatMap((payload, place) => {
      const stream = 2 * place + 1;
      return [
        frameOf({ type: 1, flags: 5, stream, payload }),
        frameOf({ type: 3, flags: 0, stream, payload: Buffer.alloc(4) }),
      ];
    });
    strangerAt(south, Buffer.concat([PREFACE, SETTINGS_FRAME, ACKNOWLEDGEMENT, ...frames]));
    const { port } = south.links;
    expect(await askForCluster({ host: '127.0.0.1', port }, 5000)).toBe(CLUSTER);
  });

  it('is answered for any number of pings, with few answers', async () => {
    const south = await openSouth();
    const { socket, answer, ended } = strangerAt(south, hello());
    await answer;
    const QUESTIONS = 200_000;
    for (let at = 0; at < 10; at++) socket.write(Buffer.alloc((QUESTIONS / 10) * RECORD_HEAD_BYTES, recordHead(0)));
    socket.end(record(numbered(TO_SOUTH, 1)));
    const heard = await ended;
    expect(south.numbersOf('appends')).toEqual([1]);
    expect(heard).toBeGreaterThan(writeAnswer({ kind: 'accepted', header: TO_SOUTH, run: 1 }).length);
    expect(heard).toBeLessThan(QUESTIONS / 100);
  });

  it('receives a sign of life within the time of an answer, also while its frames are not read', async () => {
    const south = await openSouth({ pingEveryMs: 3_600_000, pingTimeoutMs: 100 });
    south.onFrame = (): Promise<void> => new Promise(() => undefined);
    const { socket, answer } = strangerAt(south, hello());
    await answer;
    socket.write(record(numbered(TO_SOUTH, 1)));
    expect([...((await once(socket, 'data')) as [Buffer])[0]]).toEqual([...HERE]);
  });

  it('is replaced by the next one of its node and lane, and by no other (TP9)', async () => {
    // The maximum number of streams. A stream that the peer has dropped, but this node does not know of, blocks no
    // other.
    const south = await openSouth({ streamsMax: 2 });
    const beats = strangerAt(south, hello(TO_SOUTH, { lane: 'beats' }));
    const before = strangerAt(south, hello());
    await Promise.all([beats.answer, before.answer]);
    const wanted = { kind: 'refused', reason: '2 streams are open, the limit' };
    expect(await strangerAt(south, hello(TO_SOUTH, { lane: 'bulk' })).answer).toEqual(wanted);
    const { socket, answer } = strangerAt(south, hello());
    expect((await answer).kind).toBe('accepted');
    await before.ended;
    socket.write(record(numbered(TO_SOUTH, 1)));
    beats.socket.write(record(numbered(TO_SOUTH, 2)));
    await eventually(() => expect(south.numbersOf('appends')).toEqual([1]));
    await eventually(() => expect(south.numbersOf('beats')).toEqual([2]));
  });

  it('of unknown nodes is rejected when a few of them are connected, and others are accepted (TP9)', async () => {
    const south = await openSouth({ guestsMax: 2 });
    const from = (node: number, store?: number): Uint8Array => hello({ ...TO_SOUTH, from: placeOf(node, store) });
    const guests = [from(8), from(9)].map((said) => strangerAt(south, said));
    const answers = await Promise.all(guests.map(({ answer }) => answer));
    expect(answers.map(({ kind }) => kind)).toEqual(['accepted', 'accepted']);
    expect(await strangerAt(south, from(10)).answer).toEqual({
      kind: 'refused',
      reason: '2 unknown nodes are connected, the limit',
    });
    expect((await strangerAt(south, from(7, 70)).answer).kind).toBe('accepted');
    const seen = (await strangerAt(south, hello({ ...TO_SOUTH, from: placeOf(8) }, { lane: 'bulk' })).answer).kind;
    expect(seen).toBe('accepted');
    guests[0]?.socket.destroy();
    guests[1]?.socket.destroy();
    await eventually(async () => expect((await strangerAt(south, from(10)).answer).kind).toBe('accepted'));
  });

  it('drops frames for other nodes, counts and records the reason once, and continues with valid ones (TP3)', async () => {
    const south = await openSouth();
    const { socket } = strangerAt(south, hello());
    const bad: readonly (readonly [FrameFault['kind'], Uint8Array])[] = [
      ['malformed', Uint8Array.of(0xff)],
      ['malformed', Uint8Array.of(0x0a, 0xff, 0xff, 0xff)],
      ['malformed', Uint8Array.from({ length: 500 }, (_, at) => (at * 31) % 256)],
      ['malformed', new Uint8Array(100)],
      ['malformed', numbered(TO_SOUTH, 1).subarray(0, 70)],
      ['cluster', numbered({ ...TO_SOUTH, clusterId: OTHER_CLUSTER }, 2)],
      ['receiver', numbered({ ...TO_SOUTH, to: placeOf(2, 9) }, 3)],
      ['sender', numbered({ ...TO_SOUTH, from: placeOf(7) }, 4)],
      // Another node, on a stream of this one, and this node with another store.
      ['sender', numbered({ ...TO_SOUTH, from: placeOf(3) }, 4)],
      ['sender', numbered({ ...TO_SOUTH, from: placeOf(1, 10) }, 4)],
      ['lane', numbered(TO_SOUTH, 4, 0, 'letter')],
    ];
    for (const [, bytes] of bad) socket.write(record(bytes));
    socket.write(record(numbered(TO_SOUTH, 5)));
    await eventually(() => expect(south.arrived).toEqual([{ lane: 'appends', number: 5 }]));
    expect(south.observed.drops).toEqual(bad.map(([reason]) => reason));
    expect(south.observed.notes.map(({ event, node }) => [event, node])).toEqual([['peer-refused', NORTH.node]]);
  });

  it('ends with a frame beyond the maximum length, and no other stream does', async () => {
    const south = await openSouth();
    const north = await LinkedNode.open(NORTH);
    stack.push(north);
    north.links.setPeers([south.peer]);
    await eventually(() => expect(LANES.every((lane) => north.send(SOUTH, lane, 1))).toBe(true));
    const { socket, ended } = strangerAt(south, hello({ ...TO_SOUTH, from: placeOf(3) }));
    socket.write(recordHead(5 * 2 ** 20));
    await ended;
    const found = south.observed.notes.map(({ reason }) => reason);
    expect(found).toContain('a frame of 5242880 bytes; the longest has 4194304');
    expect(north.send(SOUTH, 'appends', 2)).toBe(true);
    await eventually(() => expect(south.numbersOf('appends')).toContain(2));
    expect(north.unreachable).toEqual([]);
  });
});

describe('a connection of HTTP/2 to the peer port', () => {
  const STREAMS = 16;
  const [COMPRESSION_ERROR, ENHANCE_YOUR_CALM] = [9, 11];
  const head = (stream: number, payload: Buffer, flags = 4): Buffer => frameOf({ type: 1, flags, stream, payload });

  async function closed(frames: Frames): Promise<number | undefined> {
    stack.push(frames);
    await eventually(() => expect(frames.isClosed).toBe(true));
    return frames.goAway;
  }

  it('is closed at the first reference to an HPACK table (S4)', async () => {
    const frames = await openFrames((await openSouth()).links.port);
    frames.write(head(1, grpcHeadersWithTable(PING, Buffer.of(TABLE_REFERENCE)), 5));
    expect(await closed(frames)).toBe(COMPRESSION_ERROR);
  });

  it('is closed at the first request with more than 256 headers, which is recorded', async () => {
    const south = await openSouth();
    const frames = await openFrames(south.links.port);
    frames.write(head(1, Buffer.concat([grpcHeaders(PING), Buffer.alloc(257, 0x80 | 15)]), 5));
    expect(await closed(frames)).toBe(ENHANCE_YOUR_CALM);
    expect(south.observed.drops).toEqual(['malformed']);
  });

  it('is closed when it floods with WINDOW_UPDATE frames, which is recorded', async () => {
    const south = await openSouth();
    const frames = await openFrames(south.links.port);
    frames.write(Buffer.alloc(13 * 300_000, frameOf({ type: 8, flags: 0, stream: 0, payload: Buffer.of(0, 0, 0, 1) })));
    await closed(frames);
    expect(south.observed.drops).toEqual(['malformed']);
  });

  it('is closed when it does not acknowledge the settings', async () => {
    const frames = await dialFrames((await openSouth({ silentMs: 50 })).links.port);
    frames.write(Buffer.concat([PREFACE, SETTINGS_FRAME, head(1, grpcHeaders(PING), 5)]));
    expect(await closed(frames)).toBeUndefined();
  });

  it('receives its stream limit', async () => {
    const frames = await openFrames((await openSouth()).links.port);
    stack.push(frames);
    const limit = Buffer.of(0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, STREAMS);
    await eventually(() => expect(frames.settings.map(({ payload }) => payload)).toEqual([limit]));
  });
});

it('a member of another cluster gets a retry instead of a refusal, which would end its process (K1)', async () => {
  const { port } = (await openSouth()).links;
  const request = { ...JOIN_REQUEST, clusterId: OTHER_CLUSTER };
  const expected = { kind: 'later', reason: `it belongs to the cluster ${CLUSTER}, and not to ${OTHER_CLUSTER}` };
  expect(await askToJoin({ host: '127.0.0.1', port }, request, 5_000)).toEqual(expected);
});

it('an invalid address makes its node unreachable, and no other one (TP6)', async () => {
  const south = await openSouth();
  const north = await LinkedNode.open(NORTH);
  stack.push(north);
  const hosts = ['a\nb', 'a\0b', '', 'foo bar', '//', 'xds:///x', 'unix:/tmp/x', '[::1', '\ufffd'];
  const lost = hosts.map((host, at) => ({ ...placeOf(9 + at), host, port: 1 }));
  north.links.setPeers([...lost, south.peer]);
  await eventually(() => expect(north.send(SOUTH, 'beats', 1)).toBe(true));
  expect(() => north.links.setPeers([...lost, south.peer])).not.toThrow();
  for (const { host, port, ...place } of lost) {
    expect([host, north.observed.reached.get(place.node), north.send(place, 'beats', 1)]).toEqual([host, false, false]);
    expect((await askToJoin({ host, port }, JOIN_REQUEST, 50)).kind).toBe('later');
  }
});

// Goal: TP3 and TP4 against those who break the rules: streams without a greeting, frames that are none or for others,
// messages beyond the bound, more streams than there may be; and a process that is killed. Method: clients of grpc-js
// that write any bytes, and a child process.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, type ClientWritableStream, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { LEVELS } from '#base';
import { type FrameFault, type FrameHeader, type JoinRequest, LANES } from '#cluster';
import { askToJoin } from '#transport/peer';
import {
  DELIVER,
  greeting,
  readGreeting,
  readNothing,
  readRequest,
  writeRequest,
} from '../../../../src/transport/peer/exchange.ts';
import { eventually } from '../../../support/eventually.ts';
import { CLUSTER, LinkedNode, numbered, OTHER_CLUSTER, placeOf, QUICK, UNPINGED } from '../../../support/peer-nodes.ts';
import { endWithTest } from '../../../support/test-scope.ts';

const NORTH = placeOf(1);
const SOUTH = placeOf(2);
const TO_SOUTH: FrameHeader = { clusterId: CLUSTER, from: NORTH, to: SOUTH };
const CHILD = join(import.meta.dirname, '../../../support/peer-child.ts');
const stack: AsyncDisposable[] = [];
const JOIN_REQUEST: JoinRequest = {
  clusterId: CLUSTER,
  registration: {
    storeId: NORTH.store,
    name: '',
    zone: '',
    peer: { host: 'north', port: 1 },
    grpc: '',
    http: '',
    levels: LEVELS,
  },
  release: '',
};

afterEach(async () => {
  await using ending = new AsyncDisposableStack();
  for (const each of stack.splice(0)) ending.use(each);
});

async function openSouth(streamsMax = 100): Promise<LinkedNode> {
  const south = await LinkedNode.open(SOUTH, { limits: { ...QUICK, streamsMax } });
  stack.push(south);
  south.links.setPeers([{ ...placeOf(7, 70), host: '127.0.0.1', port: 1 }]);
  return south;
}

interface Stranger {
  readonly call: ClientWritableStream<Uint8Array>;
  readonly ended: Promise<ServiceError | null>;
}

/** A stream of whoever likes; what is written to it is the message itself. */
function strangerAt(node: LinkedNode, metadata: Metadata): Stranger {
  const client = new Client(`127.0.0.1:${node.links.port}`, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_send_message_length': -1,
  });
  const { promise: ended, resolve } = Promise.withResolvers<ServiceError | null>();
  const asItIs = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
  const call = client.makeClientStreamRequest(DELIVER, asItIs, readNothing, metadata, resolve);
  stack.push({
    [Symbol.asyncDispose]: async () => {
      call.cancel();
      client.close();
    },
  });
  return { call, ended };
}

const hello = (header = TO_SOUTH): Metadata => greeting({ header, lane: 'appends', address: undefined });

function withLane(lane: string): Metadata {
  const metadata = hello();
  metadata.set('cairn-lane', lane);
  return metadata;
}

describe('a stream', () => {
  it.each([
    ['no greeting', new Metadata(), 'the metadata cairn-hello-bin is missing'],
    ['a lane that there is not', withLane('express'), 'the metadata cairn-lane is one of beats, appends, bulk'],
    ['another cluster', hello({ ...TO_SOUTH, clusterId: OTHER_CLUSTER }), `it is of the cluster ${OTHER_CLUSTER}`],
    ['another node', hello({ ...TO_SOUTH, to: placeOf(3) }), 'it is for node 3, store'],
    ['a sender with another store', hello({ ...TO_SOUTH, from: placeOf(7) }), 'node 7 has store'],
  ])('is refused by what is wrong with its greeting: %s (TP3)', async (_name, metadata, reason) => {
    const south = await openSouth();
    const error = await strangerAt(south, metadata).ended;
    expect([error?.code, error?.details]).toEqual([status.FAILED_PRECONDITION, expect.stringContaining(reason)]);
    expect(south.observed.failed.received).toBe(1);
  });

  it('is refused when there are as many as there may be, and taken again when there are less', async () => {
    const south = await openSouth(2);
    const [first, second] = [strangerAt(south, hello()), strangerAt(south, hello())];
    await Promise.all([once(first.call, 'metadata'), once(second.call, 'metadata')]);
    expect((await strangerAt(south, hello()).ended)?.details).toContain('2 streams are open');
    first.call.cancel();
    await eventually(async () => {
      const another = strangerAt(south, hello());
      await Promise.race([
        once(another.call, 'metadata'),
        another.ended.then((error) => Promise.reject(new Error(error?.details))),
      ]);
    });
  });

  it('drops what is no frame for this node, counts why, notes it once, and goes on with what is (TP3)', async () => {
    const south = await openSouth();
    const { call } = strangerAt(south, hello());
    const foreign = { ...TO_SOUTH, clusterId: OTHER_CLUSTER };
    const bad: readonly (readonly [FrameFault['kind'], Uint8Array])[] = [
      ['malformed', Uint8Array.of()],
      ['malformed', Uint8Array.of(0xff)],
      ['malformed', Uint8Array.of(0x0a, 0xff, 0xff, 0xff)],
      ['malformed', Uint8Array.of(0x0a, 0x00)],
      ['malformed', Uint8Array.from({ length: 500 }, (_, at) => (at * 31) % 256)],
      ['malformed', writeRequest(new Uint8Array(100))],
      ['malformed', writeRequest(numbered(TO_SOUTH, 1).subarray(0, 70))],
      ['cluster', writeRequest(numbered(foreign, 2))],
      ['receiver', writeRequest(numbered({ ...TO_SOUTH, to: placeOf(2, 9) }, 3))],
      ['sender', writeRequest(numbered({ ...TO_SOUTH, from: placeOf(7) }, 4))],
      // Another node that may send, on a stream that this one has opened; this one with another store.
      ['sender', writeRequest(numbered({ ...TO_SOUTH, from: placeOf(3) }, 4))],
      ['sender', writeRequest(numbered({ ...TO_SOUTH, from: placeOf(1, 10) }, 4))],
      ['lane', writeRequest(numbered(TO_SOUTH, 4, 0, 'letter'))],
    ];
    for (const [, message] of bad) call.write(message);
    call.write(Buffer.concat([writeRequest(numbered(TO_SOUTH, 5)), Uint8Array.of(0x10, 0x01)]));
    await eventually(() => expect(south.arrived).toEqual([{ lane: 'appends', number: 5 }]));
    expect(south.observed.drops).toEqual(bad.map(([reason]) => reason));
    expect(south.observed.notes.map(({ event, node }) => [event, node])).toEqual([['peer-refused', NORTH.node]]);
  });

  it.each([
    ['beats', 'forwards'],
    ['beats', 'letter'],
    ['appends', 'letter'],
    ['bulk', 'forwards'],
  ] as const)('of the lane %s carries no %s (TP7)', async (lane, content) => {
    const south = await openSouth();
    const { call } = strangerAt(south, greeting({ header: TO_SOUTH, lane, address: undefined }));
    call.write(writeRequest(numbered(TO_SOUTH, 1, 0, content)));
    call.write(writeRequest(numbered(TO_SOUTH, 2)));
    await eventually(() => expect(south.arrived).toEqual([{ lane, number: 2 }]));
    expect(south.observed.drops).toEqual(['lane']);
  });

  it('ends with a message beyond the bound, and no other stream does', async () => {
    const south = await openSouth();
    const north = await LinkedNode.open(NORTH);
    stack.push(north);
    north.links.setPeers([south.peer]);
    await eventually(() => expect(LANES.every((lane) => north.send(SOUTH, lane, 1))).toBe(true));
    const { call, ended } = strangerAt(south, hello());
    call.write(new Uint8Array(5 * 2 ** 20));
    expect((await ended)?.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(north.send(SOUTH, 'appends', 2)).toBe(true);
    await eventually(() => expect(south.numbersOf('appends')).toContain(2));
    expect(north.unreachable).toEqual([]);
  });
});

describe('a place that nobody can dial', () => {
  it.each(['a\nb', 'a\0b', '', 'foo bar', '//', 'xds:///x', 'unix:/tmp/x', '[::1', '\ufffd'])(
    '%j keeps its node from being reached, and no other one (TP6)',
    async (host) => {
      const south = await openSouth();
      const north = await LinkedNode.open(NORTH);
      stack.push(north);
      const lost = placeOf(9);
      const peers = [{ ...lost, host, port: 1 }, south.peer];
      north.links.setPeers(peers);
      await eventually(() => expect(north.send(SOUTH, 'beats', 1)).toBe(true));
      expect(() => north.links.setPeers(peers)).not.toThrow();
      expect(north.observed.reached.get(lost.node)).toBe(false);
      expect(north.send(lost, 'beats', 1)).toBe(false);
      expect((await askToJoin({ host, port: 1 }, JOIN_REQUEST, 50)).kind).toBe('later');
    },
  );
});

it.each([
  ['127.0.0.1:50052', { host: '127.0.0.1', port: 50_052 }],
  ['cairn-2.cairn.default.svc:50052', { host: 'cairn-2.cairn.default.svc', port: 50_052 }],
  ['[fd00::1]:1', { host: 'fd00::1', port: 1 }],
  ['127.0.0.1:0', undefined],
  ['127.0.0.1:65536', undefined],
  ['127.0.0.1', undefined],
  ['dns:///elsewhere:1', undefined],
  ['unix:/tmp/socket:1', undefined],
  ['', undefined],
])('a greeting says %s, or nothing that could be dialled', (text, address) => {
  const metadata = hello();
  metadata.set('cairn-address', text);
  const greeted = readGreeting(metadata);
  expect(greeted).toMatchObject({ kind: 'ok', value: { lane: 'appends' } });
  expect(greeted.kind === 'ok' ? greeted.value.address : 'none').toEqual(address);
});

it('a DeliverRequest carries a frame of any length', () => {
  for (const length of [1, 127, 128, 16_384, 2 ** 21]) {
    const frame = new Uint8Array(length).fill(7);
    expect(Buffer.compare(readRequest(writeRequest(frame)), frame)).toBe(0);
  }
});

describe('a process that is killed', () => {
  it('is reported at once, and reached again when another has its place (TP4)', async () => {
    // No ping tells of it, so that the end of the connection does.
    const north = await LinkedNode.open(NORTH, { limits: UNPINGED });
    stack.push(north);
    for (let times = 1; times <= 2; times++) {
      const child = spawn(process.execPath, ['--conditions=source', CHILD, '2', '1', String(north.links.port)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      endWithTest(child);
      const [line] = await once(createInterface({ input: child.stdout }), 'line');
      const { port }: { port: number } = JSON.parse(String(line));
      north.links.setPeers([{ ...SOUTH, host: '127.0.0.1', port }]);
      await eventually(() => {
        north.send(SOUTH, 'beats', times);
        expect(north.numbersOf('beats')).toContain(times);
      });
      expect(north.unreachable).toHaveLength(times - 1);
      child.kill('SIGKILL');
      await eventually(() => expect(north.unreachable).toHaveLength(times));
    }
  });
});

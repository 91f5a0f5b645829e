// TP12: a node accepts one process of another node at a time, because two of them would vote as one replica. Method:
// real links over loopback; a copy is a second process of the same node and store.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { LEVELS } from '#base';
import { type JoinReply, type JoinRequest, LANES } from '#cluster';
import { askToJoin } from '#transport/peer';
import { writeAnswer, writeHello } from '../../../../src/transport/peer/lane-words.ts';
import { PEER_LIMITS } from '../../../../src/transport/peer/limits.ts';
import { duplicateOf, type HeardRun, silenceMs } from '../../../../src/transport/peer/runs.ts';
import { NET } from '../../../../src/transport/peer/wire.ts';
import { eventually } from '../../../support/eventually.ts';
import { freePorts } from '../../../support/free-ports.ts';
import { CLUSTER, LinkedNode, type NodeOptions, placeOf, QUICK, UNPINGED, Wire } from '../../../support/peer-nodes.ts';

const [NORTH, SOUTH, WEST] = [placeOf(1), placeOf(2), placeOf(3)];
/** A connection counts as silent after 40 ms. */
const SHORT = { limits: { ...QUICK, pingEveryMs: 20, pingTimeoutMs: 20 } };
const stack: AsyncDisposable[] = [];

afterEach(async () => {
  await using ending = new AsyncDisposableStack();
  for (const each of stack.splice(0)) ending.use(each);
});

async function open(place: typeof NORTH, options?: NodeOptions): Promise<LinkedNode> {
  const node = await LinkedNode.open(place, options);
  stack.push(node);
  return node;
}

function reaches(from: LinkedNode, to: typeof NORTH): boolean {
  return LANES.every((lane) => from.links.isOpen(to.node, lane));
}

/** Two nodes that reach each other. */
async function pair(): Promise<{ north: LinkedNode; south: LinkedNode }> {
  const [north, south] = [await open(NORTH, { limits: UNPINGED }), await open(SOUTH, { limits: UNPINGED })];
  north.links.setPeers([south.peer]);
  south.links.setPeers([north.peer]);
  await eventually(() => expect([reaches(north, SOUTH), reaches(south, NORTH)]).toEqual([true, true]));
  return { north, south };
}

const wordsOf = (original: LinkedNode, copy: LinkedNode): string =>
  `another process of node 1, store ${NORTH.store}, is already connected and listens at 127.0.0.1:${original.links.port}; the refused process listens at 127.0.0.1:${copy.links.port}`;

it('the second process of a node is refused while the first has connections, and accepted when it has ended', async () => {
  const { north, south } = await pair();
  const copy = await open(NORTH);
  copy.links.setPeers([south.peer]);
  await eventually(() => expect(copy.observed.duplicates.length).toBeGreaterThan(2 * LANES.length));
  const reason = wordsOf(north, copy);
  const seen = `127.0.0.1:${south.links.port}: ${reason}`;
  expect(new Set(copy.observed.duplicates)).toEqual(new Set([seen]));
  expect(copy.observed.notes).toEqual([{ event: 'peer-refuses', node: SOUTH.node, reason: seen }]);
  expect(south.observed.notes).toContainEqual({ event: 'peer-refused', node: NORTH.node, reason });
  expect(new Set(south.observed.drops)).toEqual(new Set(['duplicate']));
  expect([reaches(copy, SOUTH), reaches(north, SOUTH), reaches(south, NORTH)]).toEqual([false, true, true]);
  await north.links.close();
  await eventually(() => expect(reaches(copy, SOUTH)).toBe(true));
  expect(copy.observed.duplicates.at(-1)).toBeUndefined();
});

it('the second process is accepted when the first is silent, although its connections are open', async () => {
  const [north, south, copy] = [await open(NORTH, { limits: UNPINGED }), await open(SOUTH, SHORT), await open(NORTH)];
  using wire = await Wire.to(south.links.port);
  north.links.setPeers([{ ...SOUTH, host: '127.0.0.1', port: wire.port }]);
  await eventually(() => expect(reaches(north, SOUTH)).toBe(true));
  wire.hold();
  copy.links.setPeers([south.peer]);
  await eventually(() => expect(reaches(copy, SOUTH)).toBe(true));
  expect(reaches(north, SOUTH)).toBe(false);
});

it('a process that answers at the address of a node is refused while another one that dialled long ago still sends', async () => {
  const HOUR_MS = 3_600_000;
  const limits = { ...QUICK, pingEveryMs: 20, pingTimeoutMs: HOUR_MS };
  let pastMs = 0;
  const world = { ...NET, nowMs: () => performance.now() + pastMs };
  const [north, south, copy] = [await open(NORTH, { limits }), await open(SOUTH, { limits, world }), await open(NORTH)];
  north.links.setPeers([south.peer]);
  await eventually(() => expect(reaches(north, SOUTH)).toBe(true));
  pastMs = 2 * HOUR_MS;
  const { trips } = north.observed;
  const before = trips.length;
  // All lanes of a process ping equally often.
  await eventually(() => expect(trips.length).toBeGreaterThan(before + 5));
  south.links.setPeers([copy.peer]);
  const reason = `127.0.0.1:${copy.links.port}: ${wordsOf(north, copy)}`;
  await eventually(() => expect(south.observed.notes).toContainEqual({ event: 'peer-refuses', node: 1, reason }));
  expect([reaches(south, NORTH), reaches(north, SOUTH)]).toEqual([false, true]);
});

it('the address of a node is changed only by the process from which messages arrive', async () => {
  const { north, south } = await pair();
  const copy = await open(NORTH);
  const asked: JoinRequest[] = [];
  const taken: JoinReply = { kind: 'later', reason: 'taken' };
  south.links.onJoin(async (request) => {
    asked.push(request);
    return taken;
  });
  const nameless = { name: '', zone: '', grpc: '', http: '' };
  const ask = (run: number, { peer }: LinkedNode = copy): Promise<JoinReply> => {
    const registration = { ...nameless, storeId: NORTH.store, peer, levels: LEVELS, isLearner: false };
    return askToJoin(south.peer, { clusterId: CLUSTER, registration, release: '', run }, 5_000);
  };
  expect(await ask(copy.run)).toEqual({ kind: 'later', reason: wordsOf(north, copy) });
  expect(await ask(north.run, north)).toEqual(taken);
  expect(asked.map(({ run }) => run)).toEqual([north.run]);
  await north.links.close();
  await eventually(async () => expect(await ask(copy.run)).toEqual(taken));
});

it('a process that one node refuses as a duplicate sends nothing to the others, and ends when the refusals last', async () => {
  const { north, south } = await pair();
  const west = await open(WEST);
  const ends: string[] = [];
  // The clock of the copy moves only when the test sets it.
  let nowMs = 0;
  const world = { ...NET, nowMs: () => nowMs };
  const copy = await open(NORTH, { ...SHORT, world, onDuplicate: (words) => void ends.push(words) });
  const { duplicates } = copy.observed;
  const refusals = async (): Promise<void> => {
    const before = duplicates.length;
    await eventually(() => expect(duplicates.length).toBeGreaterThan(before + LANES.length));
  };
  copy.links.setPeers([west.peer]);
  await eventually(() => expect(reaches(copy, WEST)).toBe(true));
  expect(copy.send(WEST, 'beats', 1)).toBe(true);
  copy.links.setPeers([west.peer, south.peer]);
  await refusals();
  expect([reaches(copy, WEST), copy.send(WEST, 'beats', 2)]).toEqual([false, false]);
  const SILENCE_MS = 40;
  for (const atMs of [SILENCE_MS - 1, 2 * SILENCE_MS - 2, 3 * SILENCE_MS - 3]) {
    nowMs = atMs;
    await refusals();
  }
  expect(ends).toEqual([]);
  nowMs = 3 * SILENCE_MS;
  await eventually(() => expect(ends[0]).toBe(`127.0.0.1:${south.links.port}: ${wordsOf(north, copy)}`));
  expect(west.numbersOf('beats')).toEqual([1]);
});

it('when starting nodes accepted one of two processes each, all then accept the one at the address in the catalog', async () => {
  const limits = { ...UNPINGED, backoffFirstMs: 3_600_000, backoffLastMs: 3_600_000 };
  const [port = 0] = await freePorts(1);
  const [south, west, copy] = [await open(SOUTH), await open(WEST, { limits }), await open(NORTH)];
  west.links.setPeers([{ ...NORTH, host: '127.0.0.1', port }]);
  await eventually(() => expect(west.observed.reached.get(NORTH.node)).toBe(false));
  copy.links.setPeers([west.peer]);
  await eventually(() => expect([reaches(copy, WEST), reaches(west, NORTH)]).toEqual([true, true]));
  const north = await open(NORTH, { port });
  north.links.setPeers([south.peer]);
  await eventually(() => expect(reaches(north, SOUTH)).toBe(true));
  copy.links.setPeers([west.peer, south.peer]);
  await eventually(() => expect(copy.observed.duplicates).not.toEqual([]));
  north.links.setPeers([west.peer, south.peer]);
  await eventually(() => expect([reaches(north, WEST), reaches(west, NORTH)]).toEqual([true, true]));
  expect(west.send(NORTH, 'beats', 1)).toBe(true);
  await eventually(() => expect(north.numbersOf('beats')).toEqual([1]));
  expect([north.observed.duplicates, reaches(copy, WEST)]).toEqual([[], false]);
});

it('a recent connection is replaced by a process that answers at the address in the catalog, or announces that address', () => {
  const limits = PEER_LIMITS;
  const world = { ...NET, nowMs: () => 100_000, afterArrivals: () => undefined };
  const [known, elsewhere] = [
    { host: 'node-1', port: 7003 },
    { host: 'node-1', port: 7004 },
  ];
  const accepts = (
    process: Partial<HeardRun>,
    ...heard: readonly Partial<HeardRun>[]
  ): readonly (number | undefined)[] => {
    const ended: (number | undefined)[] = [];
    const all = heard.map((each, at) => {
      const usual = { place: NORTH, run: 2, address: elsewhere, sinceMs: 99_000, heardMs: () => 99_999 };
      return { ...usual, destroy: () => void ended.push(at), ...each };
    });
    const fault = duplicateOf({ run: 1, address: known, ...process }, all, { world, limits, known });
    return fault === undefined ? ended : [...ended, -1];
  };
  const REFUSED = [-1];
  const old = { sinceMs: 100_000 - silenceMs(limits) };
  expect(accepts({}, {})).toEqual([0]);
  expect(accepts({}, {}, { run: 1 }, { address: undefined })).toEqual([0, 2]);
  expect(accepts({}, {}, old)).toEqual(REFUSED);
  expect(accepts({}, { address: known })).toEqual(REFUSED);
  expect(accepts({ isDialled: true }, { address: known })).toEqual([0]);
  expect(accepts({ isDialled: true }, { address: known, isDialled: true })).toEqual(REFUSED);
  expect(accepts({ address: elsewhere, isDialled: true }, { address: undefined })).toEqual(REFUSED);
  expect(accepts({ address: undefined }, {})).toEqual(REFUSED);
  expect(accepts({ address: { ...known, host: 'node-2' } }, {})).toEqual(REFUSED);
});

it('a node outside the catalog that reports a duplicate neither mutes nor ends this process', async () => {
  const [south, stranger] = [await open(SOUTH), placeOf(4)];
  const refusing = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(writeAnswer({ kind: 'duplicate', reason: 'another process is heard' })));
  });
  refusing.listen(0, '127.0.0.1');
  await once(refusing, 'listening');
  const at = refusing.address();
  const port = typeof at === 'object' ? (at?.port ?? 0) : 0;
  const socket = connect(south.links.port, '127.0.0.1');
  stack.push({ [Symbol.asyncDispose]: async () => void socket.destroy() }, refusing);
  const header = { clusterId: CLUSTER, from: stranger, to: SOUTH };
  socket.write(writeHello({ header, lane: 'beats', run: 9, address: { host: '127.0.0.1', port } }));
  const reason = `127.0.0.1:${port}: another process is heard`;
  await eventually(() =>
    expect(south.observed.notes).toEqual([{ event: 'peer-refuses', node: stranger.node, reason }]),
  );
  expect(south.observed.duplicates).toEqual([]);
});

// Goal: links keep the order of frames, lose them only with a connection, limit queues, verify identities and reconnect
// (TP1 to TP4). Method: real links over loopback, with a proxy that can hold or cut connections.
import { afterEach, expect, it } from 'vitest';
import { LANES } from '#cluster';
import { silentLogger } from '#observability';
import { openPeerPort } from '#transport/peer';
import { eventually } from '../../../support/eventually.ts';
import { freePorts } from '../../../support/free-ports.ts';
import {
  CLUSTER,
  LinkedNode,
  type NodeOptions,
  Observed,
  placeOf,
  QUICK,
  UNPINGED,
  Wire,
} from '../../../support/peer-nodes.ts';

const stack: (AsyncDisposable | Disposable)[] = [];
const NORTH = placeOf(1);
const SOUTH = placeOf(2);
const MEBIBYTE = 2 ** 20;

afterEach(async () => {
  await using ending = new AsyncDisposableStack();
  for (const each of stack.splice(0)) ending.use(each);
});

async function open(place = NORTH, options: NodeOptions = {}): Promise<LinkedNode> {
  const node = await LinkedNode.open(place, options);
  stack.push(node);
  return node;
}

async function wireTo(port: number): Promise<Wire> {
  const wire = await Wire.to(port);
  stack.push(wire);
  return wire;
}

async function pair(options: NodeOptions = {}): Promise<{ north: LinkedNode; south: LinkedNode }> {
  const [north, south] = await Promise.all([open(NORTH, options), open(SOUTH, options)]);
  north.links.setPeers([north.peer, south.peer]);
  south.links.setPeers([north.peer, south.peer]);
  await eventually(() => {
    for (const lane of LANES) {
      expect(north.send(SOUTH, lane, 0)).toBe(true);
      expect(south.send(NORTH, lane, 0)).toBe(true);
    }
  });
  await eventually(() => {
    for (const each of [north, south]) expect(new Set(each.arrived.map(({ lane }) => lane)).size).toBe(LANES.length);
  });
  return { north, south };
}

function countTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}

/** The numbers above 0, which only indicates that a lane is open. */
function beyondZero(numbers: readonly number[]): readonly number[] {
  return numbers.filter((number) => number > 0);
}

it('links between two nodes that dial each other carry the frames of each lane in order, in both directions at once (TP1)', async () => {
  const { north, south } = await pair();
  for (const number of countTo(200)) {
    for (const lane of LANES) {
      expect(north.send(SOUTH, lane, number, number * 50)).toBe(true);
      expect(south.send(NORTH, lane, number, 20)).toBe(true);
    }
  }
  // Frames with the number 0 were sent until the lanes were open, and may still arrive.
  await eventually(() => {
    for (const lane of LANES) {
      expect(beyondZero(south.numbersOf(lane))).toEqual(countTo(200));
      expect(beyondZero(north.numbersOf(lane))).toEqual(countTo(200));
    }
  });
  expect(north.observed.bytes.sent).toBe(south.observed.bytes.received);
  expect(north.send(SOUTH, 'appends', 201, 4 * MEBIBYTE - 84)).toBe(true);
  await eventually(() => expect(beyondZero(south.numbersOf('appends'))).toEqual(countTo(201)));
});

it('a broken connection is reported once without delay, and reconnects; received frames stay in order (TP1, TP4)', async () => {
  // Without pings, so that the break itself is noticed.
  const [north, south] = [await open(NORTH, { limits: UNPINGED }), await open(SOUTH)];
  const wire = await wireTo(south.links.port);
  north.links.setPeers([{ ...SOUTH, host: '127.0.0.1', port: wire.port }]);
  await eventually(() => expect(wire.connectionCount).toBe(3));
  await eventually(() => expect(north.send(SOUTH, 'appends', 0)).toBe(true));
  let number = 0;
  for (let times = 1; times <= 5; times++) {
    for (let left = 20; left > 0; left--) north.send(SOUTH, 'appends', ++number, 1000);
    wire.cut();
    await eventually(() => expect(north.unreachable).toHaveLength(times));
    await eventually(() => expect(north.send(SOUTH, 'appends', ++number)).toBe(true));
    await eventually(() => expect(north.observed.reached.get(SOUTH.node)).toBe(true));
    await eventually(() => expect(wire.connectionCount).toBe(3));
    await eventually(() => expect(LANES.every((lane) => north.send(SOUTH, lane, 0))).toBe(true));
  }
  const numbers = beyondZero(south.numbersOf('appends'));
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(north.unreachable).toEqual(Array.from({ length: 5 }, () => SOUTH.node));
  expect(north.reachable).toEqual(Array.from({ length: 6 }, () => SOUTH.node));
});

it('a broken connection is dialled again at the present address of the node, and not at all when the node is removed', async () => {
  const { north, south } = await pair();
  await south.links.close();
  await eventually(() => expect(north.unreachable).toEqual([SOUTH.node]));
  const again = await open(SOUTH);
  north.links.setPeers([again.peer]);
  await eventually(() => expect(north.send(SOUTH, 'beats', 7)).toBe(true));
  await eventually(() => expect(again.numbersOf('beats')).toContain(7));
  north.links.setPeers([]);
  expect(north.send(SOUTH, 'beats', 8)).toBe(false);
  expect(north.observed.reached.get(SOUTH.node)).toBe(false);
  expect(north.unreachable).toEqual([SOUTH.node]);
});

it('a node that dials after its start is dialled at once by the other, regardless of the backoff', async () => {
  const LONG_MS = 3_600_000;
  const [port = 0] = await freePorts(1);
  const north = await open(NORTH, { limits: { backoffFirstMs: LONG_MS, backoffLastMs: LONG_MS } });
  const lost = await wireTo(port);
  north.links.setPeers([{ ...SOUTH, host: '127.0.0.1', port: lost.port }]);
  await eventually(() => expect(lost.dialled).toBe(LANES.length));
  await eventually(() => expect(lost.connectionCount).toBe(0));
  const south = await open(SOUTH, { port });
  south.links.setPeers([north.peer]);
  await eventually(() => expect(LANES.every((lane) => north.send(SOUTH, lane, 1))).toBe(true));
});

it('a node at another address than in the catalog is reached while it dials, and dialled at the known one afterwards (TP5)', async () => {
  const [port = 0] = await freePorts(1);
  const north = await open(NORTH, { limits: { ...UNPINGED, backoffFirstMs: 3_600_000, backoffLastMs: 3_600_000 } });
  const lost = await wireTo(port);
  const row = { ...SOUTH, host: '127.0.0.1', port: lost.port };
  north.links.setPeers([row]);
  await eventually(() => expect(lost.dialled).toBe(LANES.length));
  await eventually(() => expect(lost.connectionCount).toBe(0));
  const moved = await open(SOUTH, { limits: UNPINGED });
  moved.links.setPeers([north.peer]);
  await eventually(() => expect(LANES.every((lane) => north.send(SOUTH, lane, 1))).toBe(true));
  const other = { ...placeOf(3), host: '127.0.0.1', port };
  north.links.setPeers([row, other]);
  expect(north.send(SOUTH, 'beats', 2)).toBe(true);
  await eventually(() => expect(moved.numbersOf('beats')).toEqual([1, 2]));
  await moved.links.close();
  await eventually(() => expect(lost.dialled).toBe(2 * LANES.length));
  expect([north.reachable, north.unreachable]).toEqual([[SOUTH.node], [SOUTH.node]]);
});

it('a starting node refuses no other node, which reaches it after the start', async () => {
  const north = await open(NORTH);
  const port = await openPeerPort({ host: '127.0.0.1', port: 0, limits: QUICK, logger: silentLogger });
  const wire = await wireTo(port.port);
  north.links.setPeers([{ ...SOUTH, host: '127.0.0.1', port: wire.port }]);
  await eventually(() => expect(wire.dialled).toBeGreaterThan(2 * LANES.length));
  const own = { clusterId: CLUSTER, self: SOUTH, run: 2, host: '127.0.0.1', port: 0, observer: new Observed() };
  const south = port.openLinks(own);
  stack.push({ [Symbol.asyncDispose]: () => south.close() });
  await eventually(() => expect(north.reachable).toEqual([SOUTH.node]));
  expect(north.observed.refusedBy).toEqual([]);
});

it('a slow node receives only a limited queue, loses none of it, and delays no other lane (TP2)', async () => {
  const { north, south } = await pair();
  const held = Promise.withResolvers<void>();
  south.onFrame = (_frame, lane): Promise<void> | undefined => (lane === 'bulk' ? held.promise : undefined);
  const KIB_512 = MEBIBYTE / 2;
  let taken = 0;
  // Until sends were rejected for so long that nothing moves any more.
  await eventually(
    () => {
      const before = taken;
      while (north.send(SOUTH, 'bulk', taken + 1, KIB_512)) taken += 1;
      expect(taken).toBe(before);
    },
    { interval: 200 },
  );
  // The queue here, the frames that were read there, and the socket buffers.
  expect(taken * KIB_512).toBeLessThan(8 * MEBIBYTE + 2 * KIB_512 + 12 * MEBIBYTE);
  expect(beyondZero(south.numbersOf('bulk'))).toEqual([1]);

  // Frames of the held lane would block these.
  for (const number of countTo(100)) await beatThere(north, south, number);
  expect(beyondZero(south.numbersOf('bulk'))).toEqual([1]);
  held.resolve();
  await eventually(() => expect(beyondZero(south.numbersOf('bulk'))).toEqual(countTo(taken)));
  await eventually(() => expect(north.send(SOUTH, 'bulk', 0)).toBe(true));
});

it('a slow node stays connected while it reads nothing, for any time', async () => {
  const { north, south } = await pair({ limits: { ...QUICK, pingEveryMs: 20, pingTimeoutMs: 200 } });
  const held = Promise.withResolvers<void>();
  south.onFrame = (): Promise<void> => held.promise;
  for (const lane of LANES) expect(north.send(SOUTH, lane, 1)).toBe(true);
  const before = north.observed.trips.length;
  // The other direction is not held: each of these is a ping, and together they take three times the timeout.
  const others = south.observed.trips.length;
  await eventually(() => expect(south.observed.trips.length).toBeGreaterThan(others + 30));
  expect(north.unreachable).toEqual([]);
  // A ping after the held frame is answered when the frame is released.
  expect(north.observed.trips.length).toBeLessThanOrEqual(before + 1);
  held.resolve();
  await eventually(() => expect(north.observed.trips.length).toBeGreaterThan(before + 1));
  expect(LANES.map((lane) => beyondZero(south.numbersOf(lane)))).toEqual([[1], [1], [1]]);
});

async function beatThere(north: LinkedNode, south: LinkedNode, number: number): Promise<void> {
  const there = Promise.withResolvers<void>();
  const previous = south.onFrame;
  south.onFrame = (frame, lane): void | Promise<void> => {
    if (lane === 'beats') there.resolve();
    return previous(frame, lane);
  };
  expect(north.send(SOUTH, 'beats', number, 300)).toBe(true);
  await there.promise;
  south.onFrame = previous;
}

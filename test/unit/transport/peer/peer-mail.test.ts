// Goal: groups of two nodes exchange messages, and measures of links become metrics and log lines. Method: real
// connections over loopback.
import { afterEach, expect, it } from 'vitest';
import { type NodeId, toLogIndex, toTerm } from '#base';
import {
  type Envelope,
  nativeCrc32,
  nativeRandom,
  type OpenPeerLinks,
  PeerCodec,
  type PeerIdentity,
  PeerMail,
  type Unheard,
} from '#cluster';
import { createMetrics, type LogFields, type Logger, silentLogger } from '#observability';
import { openPeerPort } from '#transport/peer';
import { PeerMeasureGatherer, PeerMetrics } from '../../../../src/cluster/peer/peer-measures.ts';
import { messagesIn, reply, say } from '../../../support/cluster/peer-pair.ts';
import { eventually } from '../../../support/eventually.ts';
import { CLUSTER, numbered, placeOf, QUICK } from '../../../support/peer-nodes.ts';

const NORTH = placeOf(1);
const SOUTH = placeOf(2);
const TERM = toTerm(4);
const stack: PostedNode[] = [];

afterEach(() => Promise.all(stack.splice(0).map((node) => node.mail.close())));

class PostedNode {
  readonly gatherer: PeerMeasureGatherer;
  readonly links: OpenPeerLinks;
  readonly mail: PeerMail;
  readonly heard: Envelope[] = [];
  readonly lost: NodeId[] = [];
  readonly found: NodeId[] = [];
  readonly #drops = new Map<string, number>();
  unheard: Unheard | undefined;
  /** Pending while the node has no room for entries. */
  room: Promise<void> | undefined;

  static async open(self: PeerIdentity): Promise<PostedNode> {
    const gatherer = new PeerMeasureGatherer();
    const limits = { ...QUICK, pingEveryMs: 50 };
    const place = { clusterId: CLUSTER, self, run: self.node, host: '127.0.0.1', port: 0 };
    const parts = { ...place, observer: gatherer, limits, logger: silentLogger };
    const node = new PostedNode(self, gatherer, (await openPeerPort(parts)).openLinks(parts));
    stack.push(node);
    return node;
  }

  get drops(): ReadonlyMap<string, number> {
    for (const [reason, count] of this.gatherer.take().drops) {
      this.#drops.set(reason, (this.#drops.get(reason) ?? 0) + count);
    }
    return this.#drops;
  }

  private constructor(self: PeerIdentity, gatherer: PeerMeasureGatherer, links: OpenPeerLinks) {
    this.gatherer = gatherer;
    this.links = links;
    const codec = new PeerCodec({ clusterId: CLUSTER, self, crc32: nativeCrc32, random: nativeRandom });
    this.mail = new PeerMail({ codec, links, observer: gatherer });
    this.mail.open({
      receive: (_from, messages, tables) => {
        this.heard.push(...messagesIn({ messages, tables }));
        return this.unheard;
      },
      forwarded: () => this.unheard,
      receiveLetter: () => undefined,
      room: () => this.room,
      unreachable: (node) => this.lost.push(node),
      reachable: (node) => this.found.push(node),
    });
  }
}

function beats(commit: number): readonly Envelope[] {
  return Array.from({ length: 50 }, (_, group) =>
    say(group, { kind: 'beat', term: TERM, commit: toLogIndex(commit), round: 0 }),
  );
}

async function pair(): Promise<{ readonly north: PostedNode; readonly south: PostedNode }> {
  const [north, south] = await Promise.all([PostedNode.open(NORTH), PostedNode.open(SOUTH)]);
  const peers = [
    { ...NORTH, host: '127.0.0.1', port: north.links.port },
    { ...SOUTH, host: '127.0.0.1', port: south.links.port },
  ];
  for (const { mail } of [north, south]) mail.setPeers(peers);
  await reached(north, SOUTH);
  await reached(south, NORTH);
  return { north, south };
}

async function reached({ links }: PostedNode, to: PeerIdentity): Promise<void> {
  await eventually(() => {
    for (const lane of ['beats', 'appends', 'bulk'] as const) {
      expect(links.send(to.node, lane, numbered({ clusterId: CLUSTER, from: to, to }, 0))).toBe(true);
    }
  });
}

it('the messages of two nodes are answered when only one side knows the other, while it sends (TP5)', async () => {
  const [north, south] = await Promise.all([PostedNode.open(NORTH), PostedNode.open(SOUTH)]);
  north.mail.setPeers([{ ...SOUTH, host: '127.0.0.1', port: south.links.port }]);
  south.mail.setPeers([]);
  const answer = [reply(1, { kind: 'beat-ack', term: TERM, round: 0 })];
  await eventually(() => {
    north.mail.send(SOUTH.node, beats(1));
    expect(south.heard.length).toBeGreaterThan(0);
    south.mail.send(NORTH.node, answer);
    // The answer is repeated until it arrives, and may arrive more than once.
    expect(north.heard.slice(0, 1)).toEqual(answer);
  });
  south.mail.setPeers([{ ...placeOf(3), host: '127.0.0.1', port: 1 }]);
  expect(south.links.send(NORTH.node, 'beats', numbered({ clusterId: CLUSTER, from: SOUTH, to: NORTH }, 0))).toBe(true);
  await north.mail.close();
  const gone = numbered({ clusterId: CLUSTER, from: SOUTH, to: NORTH }, 0);
  await eventually(() => expect(south.links.send(NORTH.node, 'beats', gone)).toBe(false));
  south.gatherer.take();
  expect(south.links.send(NORTH.node, 'appends', gone)).toBe(false);
  expect(south.gatherer.take().beatFailures).toBe(0);
  expect(south.links.send(NORTH.node, 'beats', gone)).toBe(false);
  expect(south.gatherer.take().beatFailures).toBe(1);
});

it('requests are reported as not sent until their lane is connected', async () => {
  const [north, south] = await Promise.all([PostedNode.open(NORTH), PostedNode.open(SOUTH)]);
  expect(north.mail.forward(SOUTH.node, [{ kind: 'leaving' }])).toBe(false);
  north.mail.setPeers([{ ...SOUTH, host: '127.0.0.1', port: south.links.port }]);
  expect(north.mail.forward(SOUTH.node, [{ kind: 'leaving' }])).toBe(false);
  await reached(north, SOUTH);
  expect(north.mail.forward(SOUTH.node, [{ kind: 'leaving' }])).toBe(true);
});

it('the messages of two nodes are dropped as a whole frame when one of them used a wrong lane (TP7)', async () => {
  const { north, south } = await pair();
  const codec = new PeerCodec({ clusterId: CLUSTER, self: NORTH, crc32: nativeCrc32, random: nativeRandom });
  const notice = say(3, { kind: 'term-notice', term: TERM });
  const [commit, vote] = [
    say(3, { kind: 'commit', term: TERM, commit: toLogIndex(1) }),
    say(3, { kind: 'beat', term: TERM, commit: toLogIndex(1), round: 0 }),
  ].map((envelope) => codec.encode(SOUTH, [envelope])[0]?.frame ?? new Uint8Array());
  if (commit === undefined || vote === undefined) throw new Error('There are two frames');
  expect(north.links.send(SOUTH.node, 'beats', commit)).toBe(true);
  expect(north.links.send(SOUTH.node, 'appends', vote)).toBe(true);
  north.mail.send(SOUTH.node, [notice]);
  await eventually(() => expect(south.drops.get('lane')).toBe(2));
  await eventually(() => expect(south.heard).toEqual([notice]));
});

it('measures of links become metrics by node, and log lines', async () => {
  const { north, south } = await pair();
  const metrics = createMetrics({ runtime: false });
  const lines: [string, LogFields | undefined][] = [];
  const line = (event: string, fields?: LogFields): number => lines.push([event, fields]);
  const logger: Logger = { ...silentLogger, info: line, warn: line };
  const shown = new PeerMetrics(metrics, logger);
  north.mail.send(SOUTH.node, beats(1));
  await eventually(() => expect(south.heard).toHaveLength(50));
  south.mail.send(NORTH.node, [reply(1, { kind: 'beat-ack', term: TERM, round: 0 })]);
  await eventually(() => expect(north.heard).toHaveLength(1));
  const read = async (): Promise<(name: string) => number> => {
    const { body } = await metrics.render();
    return (name) => Number(new RegExp(`^${name.replaceAll(/[{}]/g, '\\$&')} (.+)$`, 'm').exec(body)?.[1]);
  };
  await eventually(async () => {
    shown.show(structuredClone(north.gatherer.take()));
    const value = await read();
    expect(value('cairn_peer_round_trip_time_seconds_count{peer="2"}')).toBeGreaterThan(0);
  });
  const value = await read();
  expect(value('cairn_peer_active{peer="2"}')).toBe(1);
  expect(value('cairn_peer_sent_bytes_total{peer="2"}')).toBeGreaterThan(400);
  expect(value('cairn_peer_received_bytes_total{peer="2"}')).toBeGreaterThan(76);
  // Frames whose sender is their receiver, sent by `reached`.
  expect(value('cairn_peer_received_failures_total{peer="2"}')).toBeGreaterThan(0);
  expect(value('cairn_peer_dropped_frames_total{reason="sender"}')).toBeGreaterThan(0);
  expect(lines).toContainEqual(['peer-reached', { peer: SOUTH.node, reason: `127.0.0.1:${south.links.port}` }]);

  await south.mail.close();
  await eventually(() => expect(north.lost).toEqual([SOUTH.node]));
  const measures = north.gatherer.take();
  expect(measures.notes.map(({ event }) => event)).toEqual(['peer-lost']);
  shown.show(measures);
  expect((await read())('cairn_peer_active{peer="2"}')).toBe(0);
  expect(lines.at(-1)?.[0]).toBe('peer-lost');
});

it('measures of nodes beyond the maximum are counted together', () => {
  const gatherer = new PeerMeasureGatherer();
  for (let node = 1; node <= 1000; node++) gatherer.receiveFailed(placeOf(node).node, { kind: 'malformed', words: '' });
  for (let times = 0; times < 1000; times++) gatherer.note({ event: 'peer-refused', node: undefined, reason: 'x' });
  const measures = gatherer.take();
  expect(measures.nodes.size).toBeLessThanOrEqual(257);
  expect(measures.nodes.get(undefined)?.receivedFailures).toBe(1000 - 256);
  expect(measures.notes).toHaveLength(100);
});

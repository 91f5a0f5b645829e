/**
 * Measures the encoding of messages between two nodes as frames: CPU time to encode and decode a batch, and bytes on
 * the wire.
 *
 *   node --conditions=source bench/peer-codec.ts [--groups 10000] [--appends 1000] [--bytes 300] [--rounds 200]
 *
 * The first two cases are heartbeats of many groups: with new commit indexes in a tenth of the groups, and with none,
 * each with new message objects as Raft creates them. The third case is appends of one entry in many groups. It runs on
 * one thread and prints the mean of all rounds after as many warm-up rounds.
 */
import { loadavg } from 'node:os';
import { threadCpuUsage } from 'node:process';
import { parseArgs } from 'node:util';
import { replicaOf, toGroupId, toLogIndex, toNodeId, toTerm } from '#base';
import { nativeCrc32, nativeRandom } from '#cluster';
import type { Message } from '#raft';
import type { Envelope } from '../src/cluster/peer/links.ts';
import { PeerCodec } from '../src/cluster/peer/peer-codec.ts';
import { type PeerIdentity, toStoreId } from '../src/cluster/peer/peer-identity.ts';

const { values } = parseArgs({
  options: {
    groups: { type: 'string', default: '10000' },
    appends: { type: 'string', default: '1000' },
    bytes: { type: 'string', default: '300' },
    rounds: { type: 'string', default: '200' },
  },
});
const groups = Number(values.groups);
const rounds = Number(values.rounds);
const payload = new Uint8Array(Number(values.bytes)).fill(0x61);
const NORTH: PeerIdentity = { node: toNodeId(1), store: toStoreId('0199a5c8-3c1e-7a2b-9f00-000000000001') };
const SOUTH: PeerIdentity = { node: toNodeId(2), store: toStoreId('0199a5c8-3c1e-7a2b-9f00-000000000002') };
const CLUSTER_ID = '0199a5c8-3c1e-7a2b-9f00-0123456789ab';

function codecOf(self: PeerIdentity): PeerCodec {
  return new PeerCodec({ clusterId: CLUSTER_ID, self, crc32: nativeCrc32, random: nativeRandom });
}

/** CPU time of this thread, including garbage collection on it. */
function cpuMs(): number {
  const { user, system } = threadCpuUsage();
  return (user + system) / 1000;
}

interface Cost {
  encodeMs: number;
  decodeMs: number;
  bytes: number;
}

/** Sends one batch from one node to the other, and adds its cost. */
function send(from: PeerCodec, to: PeerCodec, messages: readonly Envelope[], cost: Cost): readonly Envelope[] {
  const startedMs = cpuMs();
  const frames = from.encode(from === north ? SOUTH : NORTH, messages);
  const encodedMs = cpuMs();
  const arrived = frames.flatMap(({ frame, lane }) => {
    const result = to.decode(frame, lane);
    if (result.kind === 'failure') throw new Error(result.reason.words);
    const { tables, messages: others } = result.value;
    return [...(tables.beats?.rows.values() ?? []), ...(tables.answers?.rows.values() ?? []), ...others];
  });
  cost.encodeMs += encodedMs - startedMs;
  cost.decodeMs += cpuMs() - encodedMs;
  for (const { frame } of frames) cost.bytes += frame.length;
  if (arrived.length !== messages.length) throw new Error(`${arrived.length} of ${messages.length} messages arrived`);
  return arrived;
}

let north = codecOf(NORTH);
let south = codecOf(SOUTH);

function say(group: number, message: Message, isAnswer = false): Envelope {
  const [from, to] = isAnswer ? [SOUTH, NORTH] : [NORTH, SOUTH];
  return { group: toGroupId(group), from: replicaOf(from.node), to: replicaOf(to.node), message };
}

function beats(commitOf: (group: number) => number): readonly Envelope[] {
  return Array.from({ length: groups }, (_, group) =>
    say(group, { kind: 'beat', term: toTerm(5), commit: toLogIndex(commitOf(group)), round: 17 }),
  );
}

function answersTo(messages: readonly Envelope[]): readonly Envelope[] {
  return messages.map(({ group, message }) => say(group, { kind: 'beat-ack', term: message.term, round: 17 }, true));
}

function measure(name: string, turn: (round: number, beatCost: Cost, answerCost: Cost) => void): void {
  north = codecOf(NORTH);
  south = codecOf(SOUTH);
  for (let round = 0; round < rounds; round++) turn(round, newCost(), newCost());
  const [there, back] = [newCost(), newCost()];
  for (let round = 0; round < rounds; round++) turn(rounds + round, there, back);
  for (const [what, { encodeMs, decodeMs, bytes }] of [[name, there] as const, ['  answers', back] as const]) {
    if (bytes === 0) continue;
    const [encode, decode] = [encodeMs, decodeMs].map((ms) => (ms / rounds).toFixed(3).padStart(8));
    const size = Math.round(bytes / rounds)
      .toString()
      .padStart(9);
    console.log(`${what.padEnd(44)}${encode} ms encode${decode} ms decode${size} bytes`);
  }
}

function newCost(): Cost {
  return { encodeMs: 0, decodeMs: 0, bytes: 0 };
}

function exchange(isWhole: boolean, commitOf: (group: number, round: number) => number) {
  return (round: number, there: Cost, back: Cost): void => {
    if (isWhole) north.forget(SOUTH.node);
    const said = beats((group) => commitOf(group, round));
    const arrived = send(north, south, said, there);
    if (isWhole) south.forget(NORTH.node);
    send(south, north, answersTo(arrived), back);
  };
}

console.log(`${groups} groups, ${rounds} rounds, load average ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`);
const START = 100_000;
measure(
  'beats, whole',
  exchange(true, (group) => START + group),
);
measure(
  'beats, a tenth differs',
  exchange(false, (group, round) => START + (group % 10 === round % 10 ? round : 0)),
);
measure(
  'beats, nothing differs',
  exchange(false, (group) => START + group),
);
measure(`${values.appends} appends of ${payload.length} bytes`, (round, there) => {
  const said = Array.from({ length: Number(values.appends) }, (_, group) => {
    const previous = { index: toLogIndex(START + round), term: toTerm(5) };
    const entries = [{ index: toLogIndex(START + round + 1), term: toTerm(5), payload }];
    return say(group, { kind: 'append', term: toTerm(5), previous, entries, commit: previous.index });
  });
  send(north, south, said, there);
});

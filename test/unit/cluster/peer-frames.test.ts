// Goal: docs/formats/peer-frames.md has the bytes that the code writes, invalid frames are rejected with their reason,
// and limits hold. Method: the digits of the page, tables of invalid frames, sequences of two codecs.
import { describe, expect, it } from 'vitest';
import { concatBytes, type ReplicaId, replicaOf, toHex, toLogIndex, toNodeId, toReplicaId, toTerm } from '#base';
import { nativeCrc32 } from '#cluster';
import { type Entry, type Message, membershipOf } from '#raft';
import { FRAME_BYTES_MAX, sealFrame } from '../../../src/cluster/peer/frame.ts';
import type { Envelope } from '../../../src/cluster/peer/links.ts';
import type { PeerCodec } from '../../../src/cluster/peer/peer-codec.ts';
import type { PeerIdentity } from '../../../src/cluster/peer/peer-identity.ts';
import { TABLE_ROWS_MAX } from '../../../src/cluster/peer/sent-table.ts';
import { CLUSTER, codecOf, messagesIn, NORTH, reply, SOUTH, say } from '../../support/cluster/peer-pair.ts';
import { examplesOf } from '../../support/format-pages.ts';

function beat(commit: number, round = 0): Message {
  return { kind: 'beat', term: toTerm(3), commit: toLogIndex(commit), round };
}

function answer(round = 0): Message {
  return { kind: 'beat-ack', term: toTerm(3), round };
}

function append(payload: Uint8Array, term = 3): Message {
  const previous = { index: toLogIndex(6), term: toTerm(2) };
  const entry = { index: toLogIndex(7), term: toTerm(3), payload };
  return { kind: 'append', term: toTerm(term), previous, entries: [entry], commit: toLogIndex(6) };
}

function entriesOf(voter: ReplicaId): readonly Entry[] {
  const membership = membershipOf([voter]);
  return [{ index: toLogIndex(7), term: toTerm(3), payload: new Uint8Array(0), membership }];
}

function single(codec: PeerCodec, to: PeerIdentity, messages: readonly Envelope[]): Uint8Array {
  const [only, ...others] = codec.encode(to, messages);
  if (only === undefined || others.length > 0) throw new Error(`${others.length + 1} frames instead of one`);
  return only.frame;
}

function messagesOf(codec: PeerCodec, frame: Uint8Array): readonly Envelope[] {
  const result = codec.decode(frame);
  if (result.kind === 'failure') throw new Error(result.reason.words);
  return messagesIn(result.value);
}

function reasonOf(codec: PeerCodec, frame: Uint8Array): string {
  const result = codec.decode(frame);
  return result.kind === 'failure' ? result.reason.words : 'decoded';
}

it('docs/formats/peer-frames.md shows the bytes of its example', () => {
  const codec = codecOf(NORTH, CLUSTER, 0xc0ffee);
  const membership = membershipOf([replicaOf(NORTH.node), replicaOf(SOUTH.node)]);
  const entries = [
    { index: toLogIndex(7), term: toTerm(3), payload: Uint8Array.of(0x68, 0x69) },
    { index: toLogIndex(8), term: toTerm(3), payload: new Uint8Array(0), membership },
  ];
  const message = { ...append(new Uint8Array(0)), entries };
  const turn = [say(7, beat(6)), say(300, beat(41, 2)), say(7, message)];
  expect(codec.encode(SOUTH, turn).map(({ frame }) => toHex(frame))).toEqual(examplesOf('peer-frames.md'));
});

describe('a frame for another node, or an invalid frame', () => {
  const frame = single(codecOf(NORTH), SOUTH, [say(1, append(Uint8Array.of(1)))]);
  const elsewhere = { node: SOUTH.node, store: NORTH.store };

  it.each([
    ['another cluster', codecOf(SOUTH, NORTH.store), frame, 'it is of the cluster 0199'],
    ['another node', codecOf({ ...SOUTH, node: toNodeId(3) }), frame, 'it is for node 2, store 0199'],
    ['another store', codecOf(elsewhere), frame, 'it is for node 2, store 0199'],
    ['nothing', codecOf(SOUTH), new Uint8Array(0), '0 bytes; a frame has at least 76'],
    ['a part of a header', codecOf(SOUTH), frame.subarray(0, 75), '75 bytes; a frame has at least 76'],
    ['a header alone', codecOf(SOUTH), sealed(frame.subarray(0, 76)), 'its content is malformed'],
    ['too much', codecOf(SOUTH), new Uint8Array(FRAME_BYTES_MAX + 1), 'a frame has at most 4194304'],
    ['other bytes', codecOf(SOUTH), new Uint8Array(100), 'do not begin with CPFR'],
    ['a later format', codecOf(SOUTH), changed(frame, 8, 2), 'format 2 is unknown here'],
    ['other content', codecOf(SOUTH), changed(frame, 9, 7), 'content of kind 7 is unknown here'],
    ['no node', codecOf(SOUTH), changed(frame, 28, 0), 'a node id is an integer from 1 to 2^32 - 1'],
    ['a node beyond 2^32', codecOf(SOUTH), changed(frame, 32, 1), 'a node id is an integer from 1 to 2^32 - 1'],
    ['damage', codecOf(SOUTH), damaged(frame), 'its checksum is '],
  ])('is rejected with its reason: %s', (_name, codec, bytes, reason) => {
    expect(reasonOf(codec, bytes)).toContain(reason);
  });
});

it('a term above 2^52 makes a message malformed, because terms would soon be exhausted', () => {
  const [north, south] = [codecOf(NORTH), codecOf(SOUTH)];
  const notice = (term: number): Uint8Array =>
    single(north, SOUTH, [say(1, { kind: 'term-notice', term: toTerm(term) })]);
  expect(reasonOf(south, notice(2 ** 52))).toBe('decoded');
  expect(reasonOf(south, notice(2 ** 52 + 1))).not.toBe('decoded');
  expect(reasonOf(south, notice(2 ** 53 - 1))).not.toBe('decoded');
});

it('an append with an entry of a later term than its own is malformed, because no leader has one', () => {
  const frame = single(codecOf(NORTH), SOUTH, [say(1, append(Uint8Array.of(1), 2))]);
  expect(reasonOf(codecOf(SOUTH), frame)).toBe('its content is malformed');
});

it('an append of a membership without a node is malformed, because nothing can be sent to it', () => {
  const nowhere = { ...append(new Uint8Array(0)), entries: entriesOf(toReplicaId(5)) };
  expect(reasonOf(codecOf(SOUTH), single(codecOf(NORTH), SOUTH, [say(1, nowhere)]))).toBe('its content is malformed');
  const somewhere = { ...append(new Uint8Array(0)), entries: entriesOf(replicaOf(NORTH.node)) };
  expect(reasonOf(codecOf(SOUTH), single(codecOf(NORTH), SOUTH, [say(1, somewhere)]))).toBe('decoded');
});

it('an append does not keep a whole frame in memory for a small part of it', () => {
  const small = say(1, append(new Uint8Array(300)));
  const large = say(2, append(new Uint8Array(200_000)));
  const kept = messagesOf(codecOf(SOUTH), single(codecOf(NORTH), SOUTH, [small, large])).map(({ message }) =>
    message.kind === 'append' ? message.entries[0]?.payload.buffer.byteLength : 0,
  );
  expect(kept).toEqual([300, 200_000 + 300 + 76 + 1 + 2 * 10 + 3 + 2]);
});

const framesOf = (groups: number): readonly Uint8Array[] => {
  const acks = Array.from({ length: groups }, (_, group) =>
    reply(group + 1, { kind: 'append-ack', term: toTerm(3), match: toLogIndex(100_000) }),
  );
  const frames = codecOf(SOUTH).encode(NORTH, acks);
  expect(frames.map(({ lane }) => lane)).toEqual(frames.map(() => 'beats'));
  return frames.map(({ frame }) => frame);
};
const bytesOf = (groups: number): number => framesOf(groups).reduce((bytes, { length }) => bytes + length, 0);

it('acknowledgements of appends (ADR 0095) need about 100 bytes for one group, 18 of them for tables, and nine for each further group', () => {
  const [only] = framesOf(1);
  expect(only).toHaveLength(103);
  // After header and flags: the tables that the sender has.
  expect(toHex(only?.slice(76, 76 + 1 + 18) ?? new Uint8Array(0))).toBe(`01${'00'.repeat(18)}`);
  expect(bytesOf(10_000) - bytesOf(9_999)).toBe(9);
});

it('tables of heartbeats beyond the maximum number of rows are dropped', () => {
  const [north, south] = [codecOf(NORTH), codecOf(SOUTH)];
  const half = Array.from({ length: TABLE_ROWS_MAX }, (_, group) => say(group, beat(group)));
  messagesOf(south, single(north, SOUTH, half));
  messagesOf(north, single(south, NORTH, [reply(1, answer())]));
  const difference = single(
    north,
    SOUTH,
    half.map(({ group }) => say(group + TABLE_ROWS_MAX, beat(1))),
  );
  expect(messagesOf(south, withoutLeavers(difference))).toEqual([]);
});

it('tables of heartbeats beyond the maximum number of nodes are dropped, the oldest first', () => {
  const south = codecOf(SOUTH);
  for (let node = 10; node < 1000; node++) {
    const place = { node: toNodeId(node), store: NORTH.store };
    const said = { ...say(1, beat(node)), from: replicaOf(place.node) };
    expect(messagesOf(south, single(codecOf(place), SOUTH, [said]))).toEqual([said]);
  }
});

function sealed(bytes: Uint8Array): Uint8Array {
  return sealFrame(Uint8Array.from(bytes), nativeCrc32);
}

function changed(frame: Uint8Array, at: number, value: number): Uint8Array {
  const bytes = Uint8Array.from(frame);
  bytes[at] = value;
  return sealed(bytes);
}

function damaged(frame: Uint8Array): Uint8Array {
  const bytes = Uint8Array.from(frame);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  return bytes;
}

/** Returns the frame with a delta that names no group that left: the count 16,384 and the groups are removed. */
function withoutLeavers(frame: Uint8Array): Uint8Array {
  // After the header: flags, two names, session, seq, and the kind "delta".
  const from = 76 + 1 + 2 * 9 + 8 + 1 + 1;
  const groups = 128 + 2 * (TABLE_ROWS_MAX - 128);
  return sealed(concatBytes([frame.subarray(0, from), Uint8Array.of(0), frame.subarray(from + 3 + groups)]));
}

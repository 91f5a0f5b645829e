// Goal: in which span a request is sent is said in a frame of its own: the frames of the requests are the same without
// it, byte for byte, and whatever comes in its place costs that frame alone. Method: the mail of a node over links that
// keep what is sent, and wrong contents with a right checksum.
import { expect, it } from 'vitest';
import { concatBytes, toGroupId, toHex, toTerm } from '#base';
import { nativeCrc32 } from '#cluster';
import { sealFrame } from '../../../src/cluster/peer/frame.ts';
import type { Lane, PeerLinks } from '../../../src/cluster/peer/links.ts';
import { PeerMail } from '../../../src/cluster/peer/peer-mail.ts';
import type { SentContext } from '../../../src/cluster/peer/trace-context.ts';
import { codecOf, NORTH, SOUTH, say } from '../../support/cluster/peer-pair.ts';

const ITEM = { kind: 'create', session: 3, id: 4, name: 'shop' } as const;
const READ = say(7, { kind: 'read-request', term: toTerm(3), id: 77 });
const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const FORWARD: SentContext = { kind: 'forward', session: 3, id: 4, traceparent: TRACEPARENT, tracestate: 'vendor=1' };
const QUESTION: SentContext = { kind: 'read', group: toGroupId(7), id: 77, traceparent: TRACEPARENT };
const HEADER_BYTES = 76;

/** Frames of one turn, with these contexts. */
function sentWith(contexts?: {
  readonly reads: readonly SentContext[];
  readonly forwards: readonly SentContext[];
}): readonly [Lane, string][] {
  const sent: [Lane, string][] = [];
  const links: object = {
    setPeers: () => undefined,
    isOpen: () => true,
    send: (_to: unknown, lane: Lane, frame: Uint8Array) => void sent.push([lane, toHex(frame)]),
  };
  const observer: object = {};
  const mail = new PeerMail({
    codec: codecOf(NORTH, undefined, 0xc0ffee),
    links: links as PeerLinks,
    observer,
  } as never);
  mail.setPeers([{ ...SOUTH, host: 'south', port: 1 }]);
  mail.forward(SOUTH.node, [ITEM], contexts?.forwards);
  mail.send(SOUTH.node, [READ], {}, contexts?.reads);
  return sent;
}

function contextsOf(frame: Uint8Array, lane: Lane): readonly SentContext[] | string | undefined {
  const decoded = codecOf(SOUTH).decode(frame, lane);
  return decoded.kind === 'failure' ? decoded.reason.words : decoded.value.contexts;
}

function encoded(contexts: readonly SentContext[]): Uint8Array {
  return codecOf(NORTH).encodeContexts(SOUTH, 'appends', contexts).frame;
}

it('frames of requests are those of before when nothing is traced, and the same ones behind their contexts', () => {
  const plain = sentWith();
  // Header, kind 2, create a database; and header, kind 1, held and the request of a read.
  expect(plain.map(([lane, frame]) => [lane, frame.slice(16, 20), frame.slice(2 * HEADER_BYTES)])).toEqual([
    ['appends', '0102', '0203040473686f70'],
    ['beats', '0101', `01${'00'.repeat(18)}0700020b034d`],
  ]);
  const traced = sentWith({ forwards: [FORWARD], reads: [QUESTION] });
  expect(traced.map(([lane]) => lane)).toEqual(['appends', 'appends', 'beats', 'beats']);
  expect([traced[1], traced[3]]).toEqual(plain);
});

it('a context arrives as it was sent, by the lanes of requests alone', () => {
  const frame = encoded([FORWARD, QUESTION]);
  expect(contextsOf(frame, 'appends')).toEqual([FORWARD, QUESTION]);
  expect(contextsOf(frame, 'beats')).toEqual([FORWARD, QUESTION]);
  expect(contextsOf(frame, 'bulk')).toBe('contexts came by the lane bulk, which does not carry that');
});

it('a context arrives without a state that is too long, and so many of them at most', () => {
  const long: SentContext = { ...FORWARD, tracestate: 'v'.repeat(513) };
  expect(contextsOf(encoded([long]), 'appends')).toEqual([
    { ...QUESTION, ...FORWARD, tracestate: undefined, group: undefined },
  ]);
  expect(contextsOf(encoded(Array.from({ length: 65 }, () => QUESTION)), 'appends')).toHaveLength(64);
});

it('a context costs its frame when it is malformed', () => {
  const whole = encoded([QUESTION]);
  const wrong = [
    whole.subarray(0, -2),
    concatBytes([whole, Uint8Array.of(9)]),
    concatBytes([whole.subarray(0, HEADER_BYTES), Uint8Array.of(1, 3, 4, 200, 1, 65)]),
  ];
  for (const frame of wrong) {
    expect(contextsOf(sealFrame(frame.slice(), nativeCrc32), 'beats')).toBe('its content is malformed');
  }
});

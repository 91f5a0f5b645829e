// Goal: a node decodes what was encoded for it, rejects damaged frames as a whole and without a change of its state,
// and gets exact tables of heartbeats from deltas despite loss, repeats and restarts (P1, P2). Method: random messages
// and histories.
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toGroupId, toLogIndex, toTerm } from '#base';
import { nativeCrc32 } from '#cluster';
import { sealFrame } from '../../../src/cluster/peer/frame.ts';
import type { Envelope } from '../../../src/cluster/peer/links.ts';
import { LANES, laneOf } from '../../../src/cluster/peer/links.ts';
import type { PeerCodec } from '../../../src/cluster/peer/peer-codec.ts';
import { type Beat, SentTable } from '../../../src/cluster/peer/sent-table.ts';
import { envelopes, letters } from '../../support/cluster/peer-messages.ts';
import { codecOf, messagesIn, NORTH, reply, SOUTH, say } from '../../support/cluster/peer-pair.ts';
import { runs } from '../../support/runs.ts';

const RUNS = runs(300);

function decoded(codec: PeerCodec, frame: Uint8Array): readonly Envelope[] {
  const result = codec.decode(frame);
  if (result.kind === 'failure') throw new Error(result.reason.words);
  expect(result.value.from).toEqual(NORTH);
  return messagesIn(result.value);
}

/** Heartbeats and their answers may come in any order, and before the others. */
function inOrder(messages: readonly Envelope[]): readonly unknown[] {
  const text = ({ group, from, to, message }: Envelope): string => JSON.stringify([group, from, to, message]);
  const isRepeated = ({ message }: Envelope): boolean => message.kind === 'beat' || message.kind === 'beat-ack';
  return [messages.filter(isRepeated).map(text).toSorted(), messages.filter((each) => !isRepeated(each))];
}

it('a frame carries all messages of a turn, each lane in its order, and again with the next turn', () => {
  fc.assert(
    fc.property(fc.array(envelopes, { maxLength: 4 }), (turns) => {
      const [sender, receiver] = [codecOf(NORTH), codecOf(SOUTH)];
      for (const messages of turns) {
        const frames = sender.encode(SOUTH, messages);
        for (const lane of LANES) {
          const arrived = frames
            .filter((frame) => frame.lane === lane)
            .flatMap(({ frame }) => decoded(receiver, frame));
          expect(inOrder(arrived)).toEqual(inOrder(messages.filter((each) => laneOf(each) === lane)));
        }
      }
    }),
    { numRuns: RUNS },
  );
});

describe('invalid frames', () => {
  it('are rejected as a whole: random bytes, truncated frames, and frames with a flipped bit', () => {
    fc.assert(
      fc.property(envelopes, fc.nat(), fc.uint8Array({ maxLength: 200 }), (messages, place, noise) => {
        expect(codecOf(SOUTH).decode(noise).kind).toBe('failure');
        for (const { frame } of codecOf(NORTH).encode(SOUTH, messages)) {
          expect(codecOf(SOUTH).decode(frame.subarray(0, place % frame.length)).kind).toBe('failure');
          const flipped = Uint8Array.from(frame);
          const at = place % frame.length;
          flipped[at] = (flipped[at] ?? 0) ^ (1 << (place % 8));
          expect(codecOf(SOUTH).decode(flipped).kind).toBe('failure');
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('never make the decoder throw or accept a part of them, even with a valid checksum, and do not affect later frames', () => {
    const change = fc.record({ at: fc.nat(), value: fc.nat(255), cut: fc.boolean() });
    fc.assert(
      fc.property(envelopes, fc.array(change, { minLength: 1, maxLength: 6 }), (messages, changes) => {
        const [sender, receiver] = [codecOf(NORTH), codecOf(SOUTH)];
        for (const { frame } of sender.encode(SOUTH, messages)) {
          const bad = forged(frame, changes);
          const before = sender.encode(SOUTH, messages);
          const result = receiver.decode(bad);
          if (result.kind === 'ok') expectSendable(messagesIn(result.value));
          // The codec continues in any case: it understands a full table regardless of what came before.
          sender.forget(SOUTH.node);
          const after = sender.encode(SOUTH, messages).flatMap((each) => decoded(receiver, each.frame));
          expect(after.length).toBe(before.flatMap((each) => decoded(codecOf(SOUTH), each.frame)).length);
        }
      }),
      { numRuns: RUNS },
    );
  });
});

it('a letter of a snapshot arrives as it was written', () => {
  fc.assert(
    fc.property(letters(NORTH.node, SOUTH.node), (letter) => {
      const result = codecOf(SOUTH).decode(codecOf(NORTH).encodeLetter(SOUTH, letter));
      if (result.kind === 'failure') throw new Error(result.reason.words);
      expect(result.value).toEqual({ from: NORTH, tables: {}, messages: [], forwards: [], letter });
    }),
    { numRuns: RUNS },
  );
});

it('a letter of a snapshot that was changed and has a right checksum is one that could have been written, or a failure (P1)', () => {
  const change = fc.record({ at: fc.nat(), value: fc.nat(255), cut: fc.boolean() });
  fc.assert(
    fc.property(
      letters(NORTH.node, SOUTH.node),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      (letter, changes) => {
        const bad = forged(codecOf(NORTH).encodeLetter(SOUTH, letter), changes);
        const result = codecOf(SOUTH).decode(bad);
        if (result.kind === 'failure' || result.value.letter === undefined) return;
        const again = codecOf(SOUTH).decode(codecOf(NORTH).encodeLetter(SOUTH, result.value.letter));
        expect(again).toEqual(result);
      },
    ),
    { numRuns: RUNS * 2 },
  );
});

/** A replica could have sent these messages: they can be encoded and decoded unchanged. */
function expectSendable(messages: readonly Envelope[]): void {
  const receiver = codecOf(SOUTH);
  const arrived = codecOf(NORTH)
    .encode(SOUTH, messages)
    .flatMap(({ frame }) => decoded(receiver, frame));
  for (const lane of LANES) {
    const ofLane = (all: readonly Envelope[]): readonly unknown[] =>
      inOrder(all.filter((each) => laneOf(each) === lane));
    expect(ofLane(arrived)).toEqual(ofLane(messages));
  }
}

/** The frame with changed or truncated content, and a valid checksum. */
function forged(frame: Uint8Array, changes: readonly { at: number; value: number; cut: boolean }[]): Uint8Array {
  const HEADER = 76;
  let bad = Uint8Array.from(frame);
  for (const { at, value, cut } of changes) {
    const place = HEADER + (at % Math.max(1, bad.length - HEADER));
    if (cut && place > HEADER) bad = bad.slice(0, place);
    else bad[place] = value;
  }
  return sealFrame(bad, nativeCrc32);
}

type Action =
  | { readonly kind: 'turn'; readonly groups: readonly number[]; readonly rises: readonly number[] }
  | { readonly kind: 'partial'; readonly group: number }
  | { readonly kind: 'deliver'; readonly which: number; readonly twice: boolean }
  | { readonly kind: 'lose'; readonly which: number }
  | { readonly kind: 'restart'; readonly side: 'sender' | 'receiver' }
  | { readonly kind: 'forget' };

const GROUPS = 12;
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('turn'),
      groups: fc.uniqueArray(fc.nat(GROUPS), { minLength: 3, maxLength: GROUPS }),
      rises: fc.array(fc.nat(GROUPS), { maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('partial'), group: fc.nat(GROUPS) }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('deliver'), which: fc.nat(), twice: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lose'), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart'), side: fc.constantFrom('sender', 'receiver') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget') }) },
);

interface Sent {
  readonly frame: Uint8Array;
  readonly toSouth: boolean;
  readonly said: readonly Envelope[];
}

/**
 * North leads groups and sends heartbeats for them, and South answers those that arrive; the network loses and repeats.
 */
class History {
  #north = codecOf(NORTH);
  #south = codecOf(SOUTH);
  readonly #underway: Sent[] = [];
  readonly #commits = new Map<number, number>();
  readonly lengths: number[] = [];
  arrived = 0;

  run(next: Action): void {
    switch (next.kind) {
      case 'turn':
        for (const group of next.rises) this.#commits.set(group, (this.#commits.get(group) ?? 0) + 1);
        this.beat(next.groups, 0);
        break;
      case 'partial':
        this.beat([next.group], 1);
        break;
      case 'deliver':
        this.deliver(next.which, next.twice);
        break;
      case 'lose':
        this.#take(next.which);
        break;
      case 'restart':
        if (next.side === 'sender') this.#north = codecOf(NORTH);
        else this.#south = codecOf(SOUTH);
        break;
      case 'forget':
        this.#north.forget(SOUTH.node);
        break;
    }
  }

  beat(groups: readonly number[], round: number): void {
    const term = toTerm(1);
    const said = groups.map((group) =>
      say(group, { kind: 'beat', term, commit: toLogIndex(this.#commits.get(group) ?? 0), round }),
    );
    for (const { frame } of this.#north.encode(SOUTH, said)) {
      this.lengths.push(frame.length);
      this.#underway.push({ frame, toSouth: true, said });
    }
  }

  deliver(which: number, twice: boolean): void {
    const sent = this.#take(which);
    if (sent === undefined) return;
    this.#arrive(sent);
    if (twice) this.#arrive(sent);
  }

  settle(): void {
    while (this.#underway.length > 0) this.deliver(0, false);
  }

  #take(which: number): Sent | undefined {
    return this.#underway.splice(which % Math.max(1, this.#underway.length), 1)[0];
  }

  #arrive({ frame, toSouth, said }: Sent): void {
    const result = (toSouth ? this.#south : this.#north).decode(frame);
    if (result.kind === 'failure') throw new Error(result.reason.words);
    const messages = messagesIn(result.value);
    const isAsSaid = messages.length === 0 || isDeepStrictEqual(inOrder(messages), inOrder(said));
    if (!isAsSaid) throw new Error(`${JSON.stringify(messages)} arrived instead of ${JSON.stringify(said)}`);
    if (!toSouth || messages.length === 0) return;
    this.arrived += messages.length;
    const answers = messages.map(({ group, message }) =>
      reply(group, { kind: 'beat-ack', term: message.term, round: message.kind === 'beat' ? message.round : 0 }),
    );
    for (const answer of this.#south.encode(NORTH, answers)) {
      this.#underway.push({ frame: answer.frame, toSouth: false, said: answers });
    }
  }
}

it('delta-encoded heartbeats arrive unchanged or not at all, and become short again after any history (P2)', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const history = new History();
      for (const next of actions) history.run(next);
      const everybody = Array.from({ length: GROUPS }, (_, group) => group);
      for (let times = 0; times < 4; times++) {
        history.settle();
        history.beat(everybody, 0);
      }
      history.arrived = 0;
      history.settle();
      expect(history.arrived).toBe(GROUPS);
      const HEADER_AND_NAMES = 76 + 1 + 2 * 10 + 12;
      expect(history.lengths.at(-1)).toBeLessThanOrEqual(HEADER_AND_NAMES);
    }),
    { numRuns: RUNS },
  );
});

const tableAction = fc.record({
  kind: fc.constantFrom('set', 'delete', 'time', 'time', 'between', 'another'),
  group: fc.nat(GROUPS),
  commit: fc.nat(2),
  posted: fc.uniqueArray(fc.nat(GROUPS), { maxLength: 4 }),
  isLost: fc.boolean(),
  isHeld: fc.boolean(),
});

it('each table of a time contains the delta-encoded messages and the others, and reports differences to the previous table', () => {
  fc.assert(
    fc.property(fc.array(tableAction, { maxLength: 60 }), (actions) => {
      const [north, south] = [codecOf(NORTH), codecOf(SOUTH)];
      let table = new SentTable<Beat>();
      const beatOf = (group: number, commit: number): Envelope<Beat> => {
        const message = { kind: 'beat' as const, term: toTerm(1), commit: toLogIndex(commit), round: 0 };
        return { ...say(group, message), message };
      };
      const compared: (readonly [readonly Envelope[], readonly Envelope[]])[] = [];
      let known = new Map<number, Envelope>();
      for (const { kind, group, commit, posted, isLost, isHeld } of actions) {
        if (kind === 'set') table.set(beatOf(group, commit));
        else if (kind === 'delete') table.delete(toGroupId(group));
        else if (kind === 'another') table = new SentTable();
        if (kind !== 'time' && kind !== 'between') continue;
        const beside = posted.filter((each) => !table.rows.has(toGroupId(each))).map((each) => beatOf(each, commit));
        const said = kind === 'time' ? [...table.rows.values(), ...beside] : beside;
        const frames = north.encode(SOUTH, beside, kind === 'time' ? { beats: table } : {});
        for (const { frame } of isLost ? [] : frames) {
          const result = south.decode(frame);
          if (result.kind === 'failure') throw new Error(result.reason.words);
          const { beats } = result.value.tables;
          if (beats !== undefined) {
            if (beats.isWhole) known = new Map();
            for (const gone of beats.gone) known.delete(gone);
            for (const row of beats.changed) known.set(row.group, row);
            compared.push([[...known.values()], [...beats.rows.values()]]);
          }
          const heard = messagesIn(result.value);
          // A difference to a lost table is dropped.
          if (heard.length > 0 || said.length === 0) compared.push([heard, said]);
          const answered = isHeld
            ? south.encode(NORTH, [reply(1, { kind: 'beat-ack', term: toTerm(1), round: 0 })])
            : [];
          for (const answer of answered) north.decode(answer.frame);
        }
      }
      for (const [found, wanted] of compared) expect(inOrder(found)).toEqual(inOrder(wanted));
    }),
    { numRuns: RUNS },
  );
});

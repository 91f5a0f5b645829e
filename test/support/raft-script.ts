/**
 * One replica on a scripted disk: carries effects out by hand, and checks every invariant of #raft after every step.
 *
 * Commands:
 *   open voters=1,2,3 self=1 [term=2 vote=1] [base=5@2] [entries=1,1,2] [budget=100] [reads=2]
 *   campaign | tick to=5000 | propose a bb ccc | read 7
 *   disk [count]                 completes the oldest writes (all when no count is given)
 *   complete term=1 index=3 log=1   completes a write by hand, such as one that was overwritten
 *   apply [count]                applies the oldest entries that were handed out (all when no count is given)
 *   state                        prints the state
 */
import { assert, toLogIndex, toTerm, unreachable } from '#base';
import {
  checkState,
  checkStep,
  type Effect,
  type Entry,
  type EntryId,
  type Input,
  lastId,
  ORIGIN,
  openReplica,
  type Persist,
  type RaftState,
  type Refusal,
  step,
  toReplicaId,
  voterSet,
} from '#raft';
import type { Command } from './datadriven.ts';

export class RaftScript {
  #state: RaftState | undefined;
  #nowMs = 0;
  #writing: Persist[] = [];
  #handedOut: Entry[] = [];

  /** Answers one command of a script. */
  answer(command: Command): string {
    const lines = this.#run(command);
    return lines.length === 0 ? 'nothing' : lines.join('\n');
  }

  #run(command: Command): readonly string[] {
    const { name, words, options } = command;
    switch (name) {
      case 'open':
        return this.#open(options);
      case 'campaign':
        return this.#step({ kind: 'campaign' });
      case 'tick':
        this.#nowMs = Number(options.get('to'));
        return this.#step({ kind: 'tick' });
      case 'propose':
        return this.#step({ kind: 'propose', payloads: words.map(payload) });
      case 'read':
        return this.#step({ kind: 'read', id: Number(words[0]) });
      case 'disk':
        return this.#writing.splice(0, count(words)).flatMap((write) => this.#complete(write));
      case 'complete':
        return this.#step({
          kind: 'persisted',
          term: toTerm(Number(options.get('term'))),
          index: toLogIndex(Number(options.get('index'))),
          logTerm: toTerm(Number(options.get('log'))),
        });
      case 'apply':
        return this.#apply(count(words));
      case 'state':
        return describeState(this.#opened());
      default:
        throw new Error(`The script knows no command "${name}"`);
    }
  }

  #open(options: ReadonlyMap<string, string>): readonly string[] {
    const voters = (options.get('voters') ?? '1').split(',').map((id) => toReplicaId(Number(id)));
    const base = parseId(options.get('base'));
    const terms = (options.get('entries') ?? '').split(',').filter(Boolean).map(Number);
    const entries = terms.map((term, at) => ({
      index: toLogIndex(base.index + 1 + at),
      term: toTerm(term),
      payload: payload(`old${base.index + 1 + at}`),
    }));
    const vote = options.get('vote');
    this.#state = openReplica(
      {
        self: toReplicaId(Number(options.get('self') ?? '1')),
        electionWindowMs: 2500,
        electionJitterMs: 1000,
        uncommittedBytesMax: Number(options.get('budget') ?? '1000'),
        pendingReadsMax: Number(options.get('reads') ?? '10'),
      },
      voterSet(voters),
      {
        hardState: {
          term: toTerm(Number(options.get('term') ?? '0')),
          vote: vote === undefined ? undefined : toReplicaId(Number(vote)),
        },
        base,
        entries,
      },
      { nowMs: this.#nowMs, seed: 7 },
    );
    this.#writing = [];
    this.#handedOut = [];
    checkState(this.#state);
    return describeState(this.#state);
  }

  #complete({ term, index, logTerm }: Persist): readonly string[] {
    return this.#step({ kind: 'persisted', term, index, logTerm });
  }

  #apply(many: number): readonly string[] {
    const last = this.#handedOut.splice(0, many).at(-1);
    if (last === undefined) return ['nothing to apply'];
    return [`applied through ${last.index}`, ...this.#step({ kind: 'applied', index: last.index })];
  }

  #step(input: Input): readonly string[] {
    const before = this.#opened();
    const result = step(before, input, this.#nowMs);
    checkStep(before, input, result);
    this.#state = result.state;
    for (const effect of result.effects) {
      if (effect.kind === 'persist') this.#writing.push(effect);
      if (effect.kind === 'apply') this.#handedOut.push(...effect.entries);
    }
    return result.effects.map(describeEffect);
  }

  #opened(): RaftState {
    assert(this.#state !== undefined, 'A script opens a replica first');
    return this.#state;
  }
}

function describeEffect(effect: Effect): string {
  switch (effect.kind) {
    case 'persist': {
      const { hardState, entries, term, index, logTerm } = effect;
      const vote = hardState === undefined ? '' : ` term ${hardState.term} vote ${hardState.vote ?? 'none'}`;
      return `persist${vote} entries [${entries.map(describeEntry).join(' ')}] (in term ${term}, through ${index}@${logTerm})`;
    }
    case 'proposed': {
      const refused = effect.refused === undefined ? '' : `, the rest refused: ${describeRefusal(effect.refused)}`;
      const from = effect.accepted === 0 ? '' : ` from ${effect.first}@${effect.term}`;
      return `proposed ${effect.accepted}${from}${refused}`;
    }
    case 'send':
      return `send to ${effect.to}: ${effect.message.kind} term ${effect.message.term} last ${describeId(effect.message.last)}`;
    case 'apply':
      return `apply [${effect.entries.map(describeEntry).join(' ')}]`;
    case 'read-ready':
      return `read ${effect.id} ready at ${effect.index} in term ${effect.term}`;
    case 'read-refused':
      return `read ${effect.id} refused: ${describeRefusal(effect.refusal)}`;
    case 'fact': {
      const { kind, ...fields } = effect.fact;
      const words = Object.entries(fields).map(([key, value]) => ` ${key} ${value}`);
      return `fact ${kind}${words.join('')}`;
    }
    default:
      return unreachable(effect);
  }
}

function describeState(state: RaftState): readonly string[] {
  const { hardState, log, commit, applying, applied, timers, role } = state;
  const entries = log.runs.flat();
  return [
    `${role.kind} term ${hardState.term} vote ${hardState.vote ?? 'none'} election ${timers.election ?? 'off'}`,
    `log ${describeId(log.base)} | ${entries.map(describeEntry).join(' ')} | ${describeId(lastId(log))}`,
    `persisted ${log.persisted} commit ${commit} applying ${applying} applied ${applied}`,
  ];
}

function describeRefusal(refusal: Refusal): string {
  switch (refusal.kind) {
    case 'not-leader':
      return `not the leader (${refusal.leader ?? 'nobody'} is)`;
    case 'uncommitted-full':
      return `${refusal.bytesMax} bytes may wait`;
    case 'reads-full':
      return `${refusal.countMax} reads may wait`;
    default:
      return unreachable(refusal);
  }
}

function describeEntry(entry: Entry): string {
  const text = String.fromCodePoint(...entry.payload);
  return `${entry.index}@${entry.term}:${text === '' ? '(no-op)' : text}`;
}

function describeId(id: EntryId): string {
  return `${id.index}@${id.term}`;
}

function parseId(text: string | undefined): EntryId {
  if (text === undefined) return ORIGIN;
  const [index, term] = text.split('@').map(Number);
  return { index: toLogIndex(index ?? 0), term: toTerm(term ?? 0) };
}

function payload(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

function count(words: readonly string[]): number {
  return words[0] === undefined ? Number.POSITIVE_INFINITY : Number(words[0]);
}

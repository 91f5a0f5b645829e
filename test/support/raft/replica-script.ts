// Runs data-driven tests of one replica with a scripted disk: commands carry out effects manually, and every invariant
// of #raft is checked after every step.
//
// Commands:
//   open voters=1,2,3 [learners=4] self=1 [term=2 vote=1] [base=5@2] [entries=1,1,2] [budget=100] [reads=2] [window=2]
//   ... campaign | tick to=5000 | wait 500 | propose a bb ccc | read 7
//   receive 2 append term=2 after=1@1 entries=2:a,2:b commit=1     likewise for other messages (words.ts)
//   disk [count]                 completes the oldest writes (all without a count)
//   complete term=1 vote=1 index=3 log=1   completes a write manually, such as an overwritten one
//   apply [count]                applies the oldest entries that were handed out (all without a count)
//   state | peers                prints the state, or a leader's view of its peers
import { assert, toLogIndex, toTerm } from '#base';
import {
  type Effect,
  type Entry,
  type Input,
  membershipOf,
  openReplica,
  type RaftState,
  step,
  toReplicaId,
} from '#raft';
import type { Command } from '../datadriven.ts';
import { describeEffect, describePeers, describeState } from './describe.ts';
import { checkState } from './state-invariants.ts';
import { checkStep } from './step-invariants.ts';
import { configOf, inputOf, number, parseEntries, parseId, parseIds, parseReplica } from './words.ts';

type Write = Extract<Effect, { readonly kind: 'persist' | 'install-snapshot' }>;

export class ReplicaScript {
  #state: RaftState | undefined;
  #nowMs = 0;
  #writing: Write[] = [];
  #handedOut: Entry[] = [];

  /** Runs one command of a script and returns its output. */
  answer(command: Command): string {
    const lines = this.#run(command);
    return lines.length === 0 ? 'nothing' : lines.join('\n');
  }

  #run({ name, words, options }: Command): readonly string[] {
    switch (name) {
      case 'open':
        return this.#open(options);
      case 'tick':
        this.#nowMs = Number(options.get('to'));
        return this.#step({ kind: 'tick' });
      case 'wait':
        this.#nowMs += Number(words[0]);
        return this.#step({ kind: 'tick' });
      case 'disk':
        return this.#writing.splice(0, count(words)).flatMap((write) => this.#complete(write));
      case 'apply':
        return this.#apply(count(words));
      case 'state':
        return describeState(this.#opened());
      case 'peers':
        return describePeers(this.#opened());
      case 'complete': {
        const vote = options.get('vote');
        return this.#step({
          kind: 'persisted',
          term: toTerm(number(options, 'term', 0)),
          vote: vote === undefined ? undefined : parseReplica(vote),
          index: toLogIndex(number(options, 'index', 0)),
          logTerm: toTerm(number(options, 'log', 0)),
        });
      }
      default:
        return this.#step(inputOf(name, words, options));
    }
  }

  #open(options: ReadonlyMap<string, string>): readonly string[] {
    const base = parseId(options.get('base'));
    const vote = options.get('vote');
    const voters = parseIds(options.get('voters') ?? '1');
    this.#state = openReplica(
      configOf(parseReplica(options.get('self') ?? '1'), options),
      membershipOf(voters, parseIds(options.get('learners'))),
      {
        hardState: {
          term: toTerm(number(options, 'term', 0)),
          vote: vote === undefined ? undefined : toReplicaId(Number(vote)),
        },
        base,
        entries: parseEntries(base, options.get('entries')),
      },
      { nowMs: this.#nowMs, seed: 7 },
    );
    this.#writing = [];
    this.#handedOut = [];
    checkState(this.#state);
    return describeState(this.#state);
  }

  #complete(write: Write): readonly string[] {
    if (write.kind === 'install-snapshot') {
      this.#handedOut = [];
      return this.#step({ kind: 'snapshot-installed', snapshot: write.snapshot });
    }
    const { term, vote, index, logTerm } = write;
    return this.#step({ kind: 'persisted', term, vote, index, logTerm });
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
      if (effect.kind === 'persist' || effect.kind === 'install-snapshot') this.#writing.push(effect);
      if (effect.kind === 'apply') this.#handedOut.push(...effect.entries);
    }
    return result.effects.map(describeEffect);
  }

  #opened(): RaftState {
    assert(this.#state !== undefined, 'A script opens a replica first');
    return this.#state;
  }
}

function count(words: readonly string[]): number {
  return words[0] === undefined ? Number.POSITIVE_INFINITY : Number(words[0]);
}

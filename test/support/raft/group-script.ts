/**
 * Runs data-driven tests of a whole Raft group. Commands advance everything manually, or `settle` runs until nothing is
 * left to do. The invariants of the group are checked after every command, and those of a replica after every step.
 *
 *   group voters=1,2,3 [learners=4] [others=5] [window=2] [leader=1] ...
 *                                                    replicas with empty disks; one is elected without output
 *   disk 1 entries=1,1,2 [term=3] [vote=2]                           sets the initial disk; before all other commands
 *   campaign 1 | propose 1 a b | read 1 7 | forget 2 | transfer 1 2 | change 1 voters=2,3 learners=1 | unreachable 1 2
 *   write 1 [count] | apply 1 [count] | storage 1                    completes writes, applies, answers from storage
 *   make-room 1 [bytes=0]                                            limits the bytes of entries kept for members
 *   deliver [from=1] [to=2] [kind=append] [count=1] [copy]           delivers messages, oldest first
 *   drop [from=1] [to=2] [kind=append]                               loses all of these messages
 *   settle [1,2,3]                                                   all of the above until these replicas are quiet
 *   wait 2500                                                        advances time; deadlines fire when reached
 *   elapse 2500                                                      advances time as if all processes were paused
 *   tick 1                                                           a replica reads the clock
 *   cut 1 2-3 | mend 1 2-3                                           loses the messages of a replica or link; ends that
 *   receive 1 2 append term=2 ...                                    1 gets a message that 2 never sent (words.ts)
 *   copy 1 | put-back 1                              copies the disk; replaces the disk with the copy (afterwards
 *                                                    only the invariants of replicas are checked)
 *   crash 1 [torn=1] | start 1 | compact 1 [through=3]
 *   status | peers 1 | network
 */
import { assert, toLogIndex, toTerm } from '#base';
import { membershipOf, nextDeadline, ORIGIN, type ReplicaId } from '#raft';
import type { Command } from '../datadriven.ts';
import { describeBriefly, describeEffect, describeMessage, describePeers } from './describe.ts';
import { checkGroup } from './group-invariants.ts';
import { configOf, inputOf, number, parseEntries, parseIds, parseReplica } from './words.ts';
import {
  answer,
  apply,
  compact,
  crash,
  type Disk,
  deliver,
  drop,
  EVERYTHING,
  give,
  type Happening,
  replicaOf,
  start,
  stateOf,
  type Turn,
  type World,
  withReplica,
  worldOf,
  write,
} from './world.ts';

/** More turns than any script needs; reaching it means an endless loop. */
const TURNS_MAX = 2000;

export class GroupScript {
  #world: World | undefined;
  /** Replicas as `1`, links as `1-2`. */
  #cut: ReadonlySet<string> = new Set();
  #lines: string[] = [];
  #copies: ReadonlyMap<ReplicaId, Disk> = new Map();
  #isPutBack = false;

  answer(command: Command): string {
    this.#lines = [];
    this.#run(command);
    if (!this.#isPutBack) checkGroup(this.#opened());
    return this.#lines.length === 0 ? 'nothing' : this.#lines.join('\n');
  }

  #run({ name, words, options }: Command): void {
    switch (name) {
      case 'group':
        return this.#open(options);
      case 'disk':
        return this.#givePast(parseReplica(words[0]), options);
      case 'settle':
        return this.#settle(words[0] === undefined ? this.#everyone() : parseIds(words[0]));
      case 'wait':
        return this.#wait(Number(words[0]));
      case 'elapse':
        this.#world = { ...this.#opened(), nowMs: this.#opened().nowMs + Number(words[0]) };
        return undefined;
      case 'deliver':
        return this.#deliver(options, words.includes('copy'));
      case 'drop':
        return this.#drop(options);
      case 'cut':
        this.#cut = new Set([...this.#cut, ...words]);
        return undefined;
      case 'mend':
        this.#cut = new Set([...this.#cut].filter((word) => !words.includes(word)));
        return undefined;
      case 'status':
        for (const id of this.#everyone()) this.#lines.push(this.#describe(id));
        return undefined;
      case 'network':
        for (const { from, to, message } of this.#opened().network)
          this.#lines.push(`${from} -> ${to} ${describeMessage(message)}`);
        return undefined;
      default:
        return this.#runOn(name, words, options);
    }
  }

  /** Commands for one replica. */
  #runOn(name: string, words: readonly string[], options: ReadonlyMap<string, string>): void {
    const id = parseReplica(words[0]);
    const world = this.#opened();
    const many = words[1] === undefined ? Number.POSITIVE_INFINITY : Number(words[1]);
    switch (name) {
      case 'write':
        for (let at = 0; at < many && replicaOf(this.#opened(), id).writing.length > 0; at += 1)
          this.#take(write(this.#opened(), id));
        return undefined;
      case 'apply':
        return this.#take(apply(world, id, many));
      case 'storage':
        return this.#take(answer(world, id));
      case 'make-room': {
        const room = { index: stateOf(world, id).applied, retainedBytesMax: number(options, 'bytes', 0) };
        return this.#take(give(world, id, { kind: 'applied', ...room }));
      }
      case 'crash':
        this.#world = crash(world, id, number(options, 'torn', 0));
        return undefined;
      case 'start':
        this.#world = start(world, id);
        return undefined;
      case 'copy':
        this.#copies = new Map(this.#copies).set(id, replicaOf(world, id).disk);
        return undefined;
      case 'put-back':
        this.#isPutBack = true;
        this.#world = withReplica(world, { ...replicaOf(world, id), disk: this.#copies.get(id) ?? assertNever() });
        return undefined;
      case 'compact':
        this.#world = compact(world, id, toLogIndex(number(options, 'through', EVERYTHING)));
        return undefined;
      case 'peers':
        this.#lines.push(...describePeers(stateOf(world, id)));
        return undefined;
      default:
        return this.#take(give(world, id, inputOf(name, words.slice(1), options)));
    }
  }

  #open(options: ReadonlyMap<string, string>): void {
    const voters = parseIds(options.get('voters'));
    const learners = parseIds(options.get('learners'));
    const all = [...voters, ...learners, ...parseIds(options.get('others'))];
    const membership = membershipOf(voters, learners);
    this.#cut = new Set();
    this.#world = worldOf(all.map((id) => ({ config: configOf(id, options), membership })));
    const [leader] = parseIds(options.get('leader'));
    if (leader === undefined) return;
    this.#take(give(this.#world, leader, { kind: 'campaign' }));
    this.#settle(all);
    this.#lines = [];
  }

  #givePast(id: ReplicaId, options: ReadonlyMap<string, string>): void {
    const world = this.#opened();
    const replica = replicaOf(world, id);
    const entries = parseEntries(ORIGIN, options.get('entries'));
    const vote = options.get('vote');
    const term = toTerm(number(options, 'term', entries.at(-1)?.term ?? 0));
    const hardState = { term, vote: vote === undefined ? undefined : parseReplica(vote) };
    this.#world = start(withReplica(world, { ...replica, disk: { ...replica.disk, hardState, entries } }), id);
  }

  #settle(ids: readonly ReplicaId[]): void {
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      const next = this.#next(ids);
      if (next === undefined) return;
      this.#take(next);
    }
    assert(false, 'A group becomes quiet', describeMessages(this.#opened()));
  }

  /** The next pending work of one of these replicas; undefined when they are quiet. */
  #next(ids: readonly ReplicaId[]): Turn | undefined {
    const world = this.#opened();
    for (const id of ids) {
      const { writing, asked, toApply, state } = replicaOf(world, id);
      if (state === undefined) continue;
      if (writing.length > 0) return write(world, id);
      if (toApply.length > 0) return apply(world, id, toApply.length);
      if (asked.length > 0) return answer(world, id);
    }
    const at = world.network.findIndex(({ from, to }) => this.#isLost(from, to) || ids.includes(to));
    const envelope = world.network[at];
    if (envelope === undefined) return undefined;
    return this.#isLost(envelope.from, envelope.to) ? { world: drop(world, at), events: [] } : deliver(world, at);
  }

  #isLost(from: ReplicaId, to: ReplicaId): boolean {
    const target = this.#opened().replicas.get(to);
    const ways = [`${from}`, `${to}`, `${from}-${to}`, `${to}-${from}`];
    return ways.some((way) => this.#cut.has(way)) || target?.state === undefined;
  }

  #wait(byMs: number): void {
    const endMs = this.#opened().nowMs + byMs;
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      const due = this.#everyone().map((id) => ({ id, at: this.#deadline(id) }));
      const { id, at } = due.reduce((first, each) => (each.at < first.at ? each : first));
      if (at > endMs) {
        this.#world = { ...this.#opened(), nowMs: endMs };
        return;
      }
      this.#world = { ...this.#opened(), nowMs: Math.max(at, this.#opened().nowMs) };
      this.#take(give(this.#opened(), id, { kind: 'tick' }));
      this.#settle(this.#everyone());
    }
    assert(false, 'Deadlines move on', byMs);
  }

  #deadline(id: ReplicaId): number {
    const { state } = replicaOf(this.#opened(), id);
    return state === undefined ? Infinity : (nextDeadline(state.timers) ?? Infinity);
  }

  #deliver(options: ReadonlyMap<string, string>, keep: boolean): void {
    const many = number(options, 'count', 1);
    for (let done = 0; done < many; done += 1) {
      const at = this.#find(options);
      if (at === -1) return this.#say('nothing on its way');
      const { from, to, message } = this.#opened().network[at] ?? assertNever();
      this.#say(`${from} -> ${to} ${describeMessage(message)}`);
      this.#take(deliver(this.#opened(), at, keep));
    }
  }

  #drop(options: ReadonlyMap<string, string>): void {
    for (let at = this.#find(options); at !== -1; at = this.#find(options)) {
      const { from, to, message } = this.#opened().network[at] ?? assertNever();
      this.#say(`lost ${from} -> ${to} ${describeMessage(message)}`);
      this.#world = drop(this.#opened(), at);
    }
  }

  #find(options: ReadonlyMap<string, string>): number {
    const matches = (name: string, value: string): boolean => (options.get(name) ?? value) === value;
    return this.#opened().network.findIndex(
      ({ from, to, message }) =>
        matches('from', String(from)) && matches('to', String(to)) && matches('kind', message.kind),
    );
  }

  #take({ world, events }: Turn): void {
    this.#world = world;
    for (const event of events) if (isTold(event)) this.#say(`${event.replica}: ${describeEffect(event.effect)}`);
  }

  #say(line: string): void {
    this.#lines.push(line);
  }

  #describe(id: ReplicaId): string {
    const { state } = replicaOf(this.#opened(), id);
    return state === undefined ? `${id}: down` : describeBriefly(state);
  }

  #everyone(): readonly ReplicaId[] {
    return [...this.#opened().replicas.keys()];
  }

  #opened(): World {
    assert(this.#world !== undefined, 'A script names its group first');
    return this.#world;
  }
}

/** Selects the output of a script; messages are shown when they are delivered manually, or by `network`. */
function isTold({ effect }: Happening): boolean {
  if (effect.kind === 'fact') return effect.fact.kind !== 'committed';
  return !['persist', 'send', 'apply'].includes(effect.kind);
}

function describeMessages({ network }: World): readonly string[] {
  return network.map(({ from, to, message }) => `${from} -> ${to} ${describeMessage(message)}`);
}

function assertNever(): never {
  throw new Error('The message is on its way');
}

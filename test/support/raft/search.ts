/**
 * Exhaustive search of the shipped core in a small scope: every order of everything that can happen to a few replicas,
 * within bounds, each state of the whole group visited once and checked.
 *
 * What happens: a replica campaigns (at once, as after the order of a leader, so that neither deadlines nor pre-votes
 * multiply the states), a leader proposes or changes the membership, a disk completes its oldest write, a message
 * arrives, arrives and stays to arrive again, or never arrives; a process crashes, with any number of its unfinished
 * writes on disk, and starts again. Entries are applied, and storage answers, as soon as they can.
 *
 * Left out: time (beats, deadlines, check-quorum), pre-votes, and messages of a term that their receiver has left,
 * which only tell their sender so. Those are for the random schedules.
 *
 * A state is known by a number of 53 bits that is drawn from everything that can make a difference; two states that
 * share one by chance would hide each other, which with ten million states happens about once in two hundred searches.
 */
import { BrokenInvariant } from '#base';
import { type Config, membershipOf, REPLICATION, type ReplicaId, type Target, toReplicaId } from '#raft';
import { checkGroup } from './group-invariants.ts';
import { keyOf } from './state-key.ts';
import {
  answer,
  apply,
  type Core,
  crash,
  deliver,
  give,
  replicaOf,
  start,
  type World,
  worldOf,
  write,
} from './world.ts';

/** How much of everything may happen on one path. */
export interface Scope {
  readonly voters: number;
  /** Replicas that are learners in the beginning. */
  readonly learners: number;
  readonly terms: number;
  readonly proposals: number;
  readonly crashes: number;
  /** Messages that arrive twice. */
  readonly doubles: number;
  /** What the group may be asked to become, once. */
  readonly change: Target | undefined;
  /** States after which the search ends without having seen everything. */
  readonly statesMax: number;
}

export interface Found {
  readonly states: number;
  readonly depth: number;
  /** Whether there was nothing left to see. */
  readonly isComplete: boolean;
  /** The shortest way to a broken invariant. */
  readonly broken: { readonly message: string; readonly path: readonly string[] } | undefined;
}

interface Place {
  readonly world: World;
  readonly left: Left;
  readonly path: Path | undefined;
}

/** How a place was reached. Worlds that are behind the search are forgotten, the ways through them are not. */
interface Path {
  readonly label: string;
  readonly before: Path | undefined;
}

interface Left {
  readonly proposals: number;
  readonly crashes: number;
  readonly doubles: number;
  readonly changes: number;
}

interface Move {
  readonly label: string;
  readonly left: Left;
  readonly go: () => World;
}

/** Searches the scope with the shipped core, or with another one. */
export function search(scope: Scope, core?: Core): Found {
  const { proposals, crashes, doubles } = scope;
  const left = { proposals, crashes, doubles, changes: scope.change === undefined ? 0 : 1 };
  let frontier: Place[] = [{ world: beginning(scope, core), left, path: undefined }];
  const seen = new Set<number>();
  let depth = 0;
  while (frontier.length > 0) {
    const next: Place[] = [];
    for (const place of frontier) {
      for (const move of movesFrom(place, scope)) {
        const found = follow(place, move);
        if (typeof found === 'string') {
          const path = labelsOf({ label: move.label, before: place.path });
          return { states: seen.size, depth, isComplete: false, broken: { message: found, path } };
        }
        const key = keyOf(found.world, Object.values(found.left));
        if (seen.has(key)) continue;
        seen.add(key);
        if (seen.size >= scope.statesMax) return { states: seen.size, depth, isComplete: false, broken: undefined };
        next.push(found);
      }
    }
    frontier = next;
    depth += 1;
  }
  return { states: seen.size, depth, isComplete: true, broken: undefined };
}

function beginning({ voters, learners }: Scope, core: Core | undefined): World {
  const ids = Array.from({ length: voters + learners }, (_, at) => toReplicaId(at + 1));
  const membership = membershipOf(ids.slice(0, voters), ids.slice(voters));
  return worldOf(
    ids.map((self) => ({ config: configOf(self), membership })),
    core,
  );
}

function configOf(self: ReplicaId): Config {
  const bounds = { electionWindowMs: 1000, electionJitterMs: 0, uncommittedBytesMax: 100, pendingReadsMax: 1 };
  return { self, ...bounds, replication: { ...REPLICATION, retainedBytesMax: 0 } };
}

/** The next place, or what is broken in it. */
function follow(place: Place, { label, left, go }: Move): Place | string {
  try {
    const world = quiet(go());
    checkGroup(world);
    return { world, left, path: { label, before: place.path } };
  } catch (error) {
    if (error instanceof BrokenInvariant) return error.message;
    throw error;
  }
}

/** Applies what can be applied, lets storage answer, and forgets messages that nobody would listen to. */
function quiet(world: World): World {
  let settled = world;
  for (const id of world.replicas.keys()) {
    while (replicaOf(settled, id).toApply.length > 0) settled = apply(settled, id, Number.POSITIVE_INFINITY).world;
    while (replicaOf(settled, id).asked.length > 0) settled = answer(settled, id).world;
  }
  const network = settled.network.filter(({ to, message }) => {
    const term = settled.replicas.get(to)?.state?.hardState.term;
    if (term === undefined || message.term < term || message.kind === 'term-notice') return false;
    return message.kind !== 'vote-reply' || settled.replicas.get(to)?.state?.role.kind !== 'leader';
  });
  return network.length === settled.network.length ? settled : { ...settled, network };
}

function movesFrom({ world, left, path }: Place, scope: Scope): readonly Move[] {
  const moves: Move[] = [];
  for (const id of world.replicas.keys()) {
    // All voters begin alike: who campaigns first makes no difference.
    if (path !== undefined || id === 1) moves.push(...campaigns(world, left, id, scope.terms));
    moves.push(...wishes(world, left, id, scope));
    if (replicaOf(world, id).writing.length > 0) {
      moves.push({ label: `disk of ${id} completes a write`, left, go: () => write(world, id).world });
    }
    if (left.crashes > 0) moves.push(...crashesOf(world, left, id));
  }
  for (const [at, { from, to, message }] of world.network.entries()) {
    const label = `${message.kind} of ${message.term} from ${from} arrives at ${to}`;
    moves.push({ label, left, go: () => deliver(world, at).world });
    if (left.doubles === 0) continue;
    const doubled = { ...left, doubles: left.doubles - 1 };
    moves.push({ label: `${label}, and stays`, left: doubled, go: () => deliver(world, at, true).world });
  }
  return moves;
}

/** As after the order of a leader: straight into the next term. */
function campaigns(world: World, left: Left, id: ReplicaId, terms: number): readonly Move[] {
  const { state } = replicaOf(world, id);
  if (state === undefined || state.hardState.term >= terms) return [];
  const { role, membership } = state;
  if (role.kind === 'leader' || role.kind === 'pre-candidate') return [];
  if (![...membership.voters.incoming, ...membership.voters.outgoing].includes(id)) return [];
  const other = toReplicaId(id === 1 ? 2 : 1);
  const from = role.kind === 'follower' ? (role.leader ?? other) : other;
  const message = { kind: 'timeout-now', term: state.hardState.term } as const;
  const go = (): World => give(world, id, { kind: 'receive', from, message }).world;
  return [{ label: `${id} campaigns in term ${state.hardState.term + 1}`, left, go }];
}

/** What a leader may be asked for. */
function wishes(world: World, left: Left, id: ReplicaId, { change }: Scope): readonly Move[] {
  if (replicaOf(world, id).state?.role.kind !== 'leader') return [];
  const moves: Move[] = [];
  if (left.proposals > 0) {
    const go = (): World => give(world, id, { kind: 'propose', payloads: [new Uint8Array(1)] }).world;
    moves.push({ label: `${id} proposes`, left: { ...left, proposals: left.proposals - 1 }, go });
  }
  if (left.changes > 0 && change !== undefined) {
    const go = (): World => give(world, id, { kind: 'change-membership', target: change }).world;
    moves.push({ label: `${id} changes the membership`, left: { ...left, changes: left.changes - 1 }, go });
  }
  return moves;
}

function crashesOf(world: World, left: Left, id: ReplicaId): readonly Move[] {
  const { writing } = replicaOf(world, id);
  return Array.from({ length: writing.length + 1 }, (_, torn) => ({
    label: `${id} crashes with ${torn} of ${writing.length} writes on disk, and starts again`,
    left: { ...left, crashes: left.crashes - 1 },
    go: () => start(crash(world, id, torn), id),
  }));
}

function labelsOf(path: Path): readonly string[] {
  const labels: string[] = [];
  for (let at: Path | undefined = path; at !== undefined; at = at.before) labels.unshift(at.label);
  return labels;
}

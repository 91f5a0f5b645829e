/**
 * What each move does to the one replica that makes it: run once by the core and checked once, then looked up.
 *
 * A replica knows the others by their messages alone. So what a move does depends on the replica's own part of the
 * world, on the message, if it is one that arrives, and on what the step is held against of the history; and the states
 * of a single replica are few where those of a group are many. A step that moves no commit index, elects nobody, sends
 * no vote and applies nothing cannot meet the history (`remembered` in world.ts), and is run once for all histories.
 */
import { assert, BrokenInvariant } from '#base';
import type { ReplicaId } from '#raft';
import type { Tables } from './keys.ts';
import { type Bounds, calmed, deliveryOf, type Left, movesFrom } from './search-moves.ts';
import { type Core, deliver, type History, NOTHING_YET, type Replica, replicaOf, type World } from './world.ts';

/** Numbers of parts. */
export interface Outcome {
  readonly replica: number;
  readonly sends: readonly number[];
  /** Undefined when it is what it was. */
  readonly history: number | undefined;
}

export interface LocalStep {
  readonly label: () => string;
  /** What is left after it. */
  readonly left: Left;
  readonly go: (alone: World) => World;
  /** What it does whatever the history is; else what it does with each. */
  always: Outcome | undefined;
  readonly byHistory: Map<number, Outcome>;
}

export class LocalSteps {
  readonly #core: Core;
  readonly #bounds: Bounds;
  readonly #tables: Tables;
  readonly #own: Map<Left, readonly LocalStep[]>[] = [];
  readonly #deliveries: Map<number, LocalStep>[] = [];

  constructor(core: Core, bounds: Bounds, tables: Tables) {
    this.#core = core;
    this.#bounds = bounds;
    this.#tables = tables;
  }

  /** Every move but the arrivals; `left` is one object for what is equal. */
  own(replica: number, left: Left): readonly LocalStep[] {
    const byLeft = (this.#own[replica] ??= new Map());
    const known = byLeft.get(left);
    if (known !== undefined) return known;
    const here = this.#alone(replica, NOTHING_YET);
    const steps = movesFrom(here, left, this.#bounds).map((move, at) =>
      stepOf(move.label, move.left, (alone) => {
        const again = movesFrom(alone, left, this.#bounds)[at];
        assert(again !== undefined, 'A move does not depend on the history', at);
        return again.go();
      }),
    );
    byLeft.set(left, steps);
    return steps;
  }

  /** The arrival of a message. `left` says nothing here: it stays what it is. */
  delivery(replica: number, envelope: number, left: Left): LocalStep {
    const byEnvelope = (this.#deliveries[replica] ??= new Map());
    const known = byEnvelope.get(envelope);
    if (known !== undefined) return known;
    const arriving = this.#tables.envelopes.partOf(envelope);
    const go = (alone: World): World => deliver({ ...alone, network: [arriving] }, 0).world;
    const step = stepOf(() => deliveryOf(arriving), left, go);
    byEnvelope.set(envelope, step);
    return step;
  }

  /** What the step of this replica does, or the invariant that it breaks. */
  take(step: LocalStep, replica: number, history: number): Outcome | string {
    const known = step.always ?? step.byHistory.get(history);
    if (known !== undefined) return known;
    const before = this.#alone(replica, this.#tables.histories.partOf(history));
    try {
      const after = calmed(step.go(before), this.#bounds);
      const id = idOf(before);
      const isFree = !meetsHistory(replicaOf(before, id), replicaOf(after, id), after);
      const outcome = this.#numbered(replicaOf(after, id), after, before.history);
      if (isFree) step.always = outcome;
      else step.byHistory.set(history, outcome);
      return outcome;
    } catch (error) {
      if (error instanceof BrokenInvariant) return error.message;
      throw error;
    }
  }

  #numbered(replica: Replica, { network, history }: World, before: History): Outcome {
    const { replicas, envelopes, histories } = this.#tables;
    return {
      replica: replicas.numberOf(replica),
      sends: network.map((each) => envelopes.numberOf(each)),
      history: history === before ? undefined : histories.numberOf(history),
    };
  }

  #alone(number: number, history: History): World {
    const replica = this.#tables.replicas.partOf(number);
    return { core: this.#core, nowMs: 0, replicas: new Map([[replica.id, replica]]), network: [], history };
  }
}

function stepOf(label: () => string, left: Left, go: LocalStep['go']): LocalStep {
  return { label, left, go, always: undefined, byHistory: new Map() };
}

function idOf({ replicas }: World): ReplicaId {
  const [id] = replicas.keys();
  assert(id !== undefined, 'Somebody is there');
  return id;
}

/** Whether the step can have been held against the history, or have added to it. */
function meetsHistory(before: Replica, after: Replica, { network }: World): boolean {
  const one = before.state;
  const other = after.state;
  if (one?.commit !== other?.commit || one?.applied !== other?.applied) return true;
  if (one?.role.kind !== other?.role.kind && other?.role.kind === 'leader') return true;
  return network.some(({ message }) => message.kind === 'vote-reply' && message.isGranted);
}

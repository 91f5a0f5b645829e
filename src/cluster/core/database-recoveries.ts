/** Recovers databases on admin requests (orders/recover-order.ts). */
import { assert, type Clock, type Random, toDatabaseId, uuidv7 } from '#base';
import type { KvReader } from '#kv';
import { CatalogAsks, type CatalogAsksPorts } from '../catalog/catalog-asks.ts';
import type { Machines } from '../machine.ts';
import {
  type AskedRecovery,
  chosenOf,
  faultInRecovery,
  type HeldCopy,
  heldCopy,
  type Recovered,
  type RecoveryAnswer,
  recoveredBy,
} from '../orders/recover-order.ts';
import type { Binding } from '../outcome.ts';
import { clockFault } from '../refusals.ts';
import type { Lifecycle } from './group-lifecycle.ts';
import type { Turns } from './turns.ts';

export interface DatabaseRecoveriesPorts extends CatalogAsksPorts {
  readonly machines: Machines;
  readonly kv: KvReader;
  readonly lifecycle: Pick<Lifecycle, 'touch'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Returns whether no client of any node can be answered from an earlier instance with the name (C26). */
  readonly isPast: (name: string) => boolean;
  readonly turns: Pick<Turns, 'run'>;
}

const UUID_RANDOM_BYTES = 10;
const NOT_PAST = 'it is recovered, but a node may still answer from the instance before, for some seconds more';

export class DatabaseRecoveries {
  readonly #ports: DatabaseRecoveriesPorts;
  readonly #asks: CatalogAsks<AskedRecovery, Recovered>;

  constructor(ports: DatabaseRecoveriesPorts) {
    this.#ports = ports;
    this.#asks = new CatalogAsks<AskedRecovery, Recovered>(ports, {
      answer: (order, isLatest) => {
        const database = isLatest ? recoveredBy(this.#bound(order), order) : undefined;
        return database && ports.isPast(database.name) ? { kind: 'recovered', database } : undefined;
      },
      fault: (order) => this.#fault(order),
      encode: (order) => this.#encode(order),
      late: (order) => (recoveredBy(this.#bound(order), order) === undefined ? undefined : NOT_PAST),
    });
  }

  /** The replica of a database on this node; undefined when there is none, or no such database. */
  copyOf(name: string): HeldCopy | undefined {
    const { catalog, lifecycle, kv, machines, turns } = this.#ports;
    let copy: HeldCopy | undefined;
    turns.run(() => {
      const binding = catalog().lookup(name);
      const group = binding && lifecycle.touch(binding.group);
      const standing = group && machines.standingOf(kv, group.id);
      copy = group && standing && heldCopy(group, standing);
    });
    return copy;
  }

  /** An admin request to recover a database. Never rejects; unanswered if the core fails. */
  recover(order: AskedRecovery): Promise<RecoveryAnswer> {
    const answer = this.#asks.ask(order);
    this.#ports.turns.run(() => undefined);
    return answer;
  }

  /** Processes waiting requests. Called between steps. */
  settle(): void {
    this.#asks.settle();
  }

  #bound({ name }: AskedRecovery): Binding | undefined {
    return this.#ports.catalog().lookup(name);
  }

  #fault(order: AskedRecovery): RecoveryAnswer | undefined {
    const reason = clockFault(this.#ports.clock.nowMs())?.message;
    if (reason !== undefined) return { kind: 'later', reason };
    const bound = this.#bound(order);
    if (recoveredBy(bound, order) !== undefined) return { kind: 'later', reason: NOT_PAST };
    const fault = faultInRecovery(bound, order);
    return fault && { kind: 'faulty', ...fault };
  }

  #encode(order: AskedRecovery): Uint8Array {
    const { machines, clock, random } = this.#ports;
    const chosen = chosenOf(order);
    assert(chosen !== undefined, 'The recovered replica has answered', order.from);
    const { group, revision, chainHash } = chosen;
    const databaseId = toDatabaseId(uuidv7(clock.nowMs(), random.bytes(UUID_RANDOM_BYTES)));
    return machines.encode({ kind: 'recover', group, databaseId, node: order.from, revision, chainHash });
  }
}

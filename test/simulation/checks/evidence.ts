// The history, arranged for the checks: the known facts about each instance of a database, with their sources and
// times.
//
// The final log of a surviving instance is the ground truth; it is read once after healing. For a deleted instance
// there are only the answers about it.
import type { Revision } from '#base';
import type { DefinedVersion, TimedDefinitionEntry } from '#model';
import type { AnyOperation, History, Operation, Scope, TransactionSeen } from '../history.ts';
import { DatabaseModel } from './model.ts';

/** Definitions of an instance, from one replica. */
export interface FinalDefinitions {
  /** The effective entries, in order. */
  readonly records: readonly (TimedDefinitionEntry & { readonly revision: Revision })[];
  readonly versions: readonly DefinedVersion[];
  /** Bytes of the referenced components, by digest. */
  readonly bytes: ReadonlyMap<string, Uint8Array | undefined>;
}

/** An instance after healing. */
export interface FinalDatabase extends Scope {
  readonly name: string;
  readonly chainHash: string;
  readonly createdAtMs: number;
  /** The first instance of its history, which is another one after a recovery. */
  readonly rootId?: string | undefined;
  readonly transactions: readonly TransactionSeen[];
  /** Absent when no client defines components, or nothing was read. */
  readonly definitions?: FinalDefinitions | undefined;
  /** Subscribers of this instance that miss events. */
  readonly followers: readonly { readonly client: string; readonly number: number }[];
}

/** An answer that showed a revision of an instance at a time. */
interface Sighting {
  readonly atUs: number;
  readonly revision: number;
  readonly by: string;
}

/** The result of a recorded transaction, as returned by one answer. */
export type Recorded = Extract<
  Extract<Operation<'transact'>['outcome'], { readonly kind: 'ok' }>['value'],
  { readonly kind: 'recorded' }
>;

export interface Acknowledgement {
  readonly operation: Operation<'transact'>;
  readonly recorded: Recorded;
}

export class Instance {
  readonly databaseId: string;
  /** Undefined for a deleted instance. */
  readonly final: FinalDatabase | undefined;
  readonly model: DatabaseModel;
  readonly acknowledgements: Acknowledgement[] = [];
  #sightings: Sighting[] = [];
  #floors: readonly { readonly atUs: number; readonly highest: number }[] = [];

  constructor(databaseId: string, final: FinalDatabase | undefined) {
    this.databaseId = databaseId;
    this.final = final;
    this.model = new DatabaseModel(final?.transactions ?? []);
  }

  get sightings(): readonly Sighting[] {
    return this.#sightings;
  }

  see(sighting: Sighting): void {
    this.#sightings.push(sighting);
  }

  /** Sorts the sightings by time. Call this once, after the last sighting. */
  settle(): void {
    this.#sightings = this.#sightings.toSorted((a, b) => a.atUs - b.atUs);
    let highest = 0;
    this.#floors = this.#sightings.map(({ atUs, revision: seen }) => {
      highest = Math.max(highest, seen);
      return { atUs, highest };
    });
  }

  /** The highest revision that any client knew before this time. */
  floor(beforeUs: number): number {
    let low = 0;
    let high = this.#floors.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#floors[middle]?.atUs ?? 0) < beforeUs) low = middle + 1;
      else high = middle;
    }
    return this.#floors[low - 1]?.highest ?? 0;
  }

  /** True when the final log includes this revision. */
  covers(revision: number): boolean {
    return this.final !== undefined && revision <= this.final.revision;
  }
}

export class Evidence {
  readonly history: History;
  readonly finals: readonly FinalDatabase[];
  readonly instances: Map<string, Instance> = new Map();
  /** Every attempt of a transaction, in order of invocation. */
  readonly attempts: Map<string, Operation<'transact'>[]> = new Map();

  constructor(history: History, finals: readonly FinalDatabase[]) {
    this.history = history;
    this.finals = finals;
    for (const final of finals) this.instances.set(final.databaseId, new Instance(final.databaseId, final));
    for (const operation of history.operations) this.#take(operation);
    for (const { scope, items, client } of history.subscriptions) {
      if (scope === undefined) continue;
      for (const item of items) {
        const revision = item.kind === 'events' ? (item.events.at(-1)?.revision ?? 0) : item.revision;
        this.instance(scope.databaseId).see({ atUs: item.atUs, revision, by: client });
      }
    }
    for (const instance of this.instances.values()) instance.settle();
  }

  instance(databaseId: string): Instance {
    const known = this.instances.get(databaseId);
    if (known !== undefined) return known;
    const instance = new Instance(databaseId, undefined);
    this.instances.set(databaseId, instance);
    return instance;
  }

  /** Time when the transaction was first sent; infinite if it never was. */
  firstInvokedUs(transactionId: string): number {
    return this.attempts.get(transactionId)?.[0]?.invokedUs ?? Number.POSITIVE_INFINITY;
  }

  #take(operation: AnyOperation): void {
    if (operation.kind === 'transact') {
      const { transactionId } = operation.request;
      const attempts = this.attempts.get(transactionId) ?? [];
      attempts.push(operation);
      this.attempts.set(transactionId, attempts);
    }
    for (const { databaseId, revision } of scopesOf(operation)) {
      this.instance(databaseId).see({ atUs: operation.returnedUs, revision, by: label(operation) });
    }
    if (operation.kind !== 'transact' || operation.outcome.kind !== 'ok') return;
    const { value } = operation.outcome;
    if (value.kind === 'recorded') {
      this.instance(value.databaseId).acknowledgements.push({ operation, recorded: value });
    }
  }
}

/** Every instance and revision in an answer. */
export function scopesOf(operation: AnyOperation): readonly Scope[] {
  const { outcome } = operation;
  if (outcome.kind === 'error') return outcome.scope === undefined ? [] : [outcome.scope];
  if (outcome.kind !== 'ok') return [];
  if (operation.kind === 'list') return outcome.value as readonly Scope[];
  if (operation.kind === 'delete') return [];
  const scope = outcome.value as Scope;
  if (operation.kind !== 'describe' && operation.kind !== 'asOf') return [scope];
  const { latestRevision } = outcome.value as { readonly latestRevision: number };
  return [scope, { databaseId: scope.databaseId, revision: latestRevision }];
}

/** Name of an operation in a fault. */
export function label({ number, kind, client }: Pick<AnyOperation, 'number' | 'kind' | 'client'>): string {
  return `#${number} ${kind} by ${client}`;
}

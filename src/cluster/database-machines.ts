/**
 * The machines of #database in the form in which the runtime drives them (machine.ts).
 */
import { assert, CATALOG_GROUP, type GroupId } from '#base';
import {
  type Applied,
  CatalogMachine,
  DatabaseMachine,
  DatabaseReader,
  type DatabaseSource,
  encodeCatalogEntry,
  type RangeNeed,
  rebuildDerived,
  verifyHistory,
} from '#database';
import { KeyWriter, type KvBatch, type KvReader } from '#kv';
import { stampPayload } from '#model';
import { decodeMembership, encodeMembership } from '#raft';
import type {
  AppliedMark,
  CatalogMachine as CatalogPort,
  HeldMembership,
  Machine,
  MachineEntry,
  Machines,
} from './machine.ts';
import { nativeCrc32, nativeSha256 } from './native.ts';
import type { Binding, Outcome, RegisteredNode } from './outcome.ts';

/** First byte of the keys that belong to groups; the group follows, 4 bytes big-endian. */
const GROUP_ROWS = 0x01;

/** The real machines, over the digests of this platform. */
export const databaseMachines: Machines = {
  openCatalog: (kv, founders) =>
    new CatalogAdapter(CatalogMachine.open(sourceOf(kv, CATALOG_GROUP), encodeMembership(founders))),
  createDatabase: (kv, binding, founders) => {
    const database = { ...binding, membership: encodeMembership(founders) };
    return new DatabaseAdapter(DatabaseMachine.create(sourceOf(kv, binding.group), database));
  },
  markOf: (kv, group) => new DatabaseReader(sourceOf(kv, group)).applied(),
  openDatabase: (kv, group) => {
    const machine = DatabaseMachine.open(sourceOf(kv, group));
    return machine === undefined ? undefined : new DatabaseAdapter(machine);
  },
  verify: async (kv, group, durable) => {
    const check = await verifyHistory(new DatabaseReader(sourceOf(kv, group)), durable.revision);
    return check.kind === 'whole';
  },
  rebuild: (kv, group, durable) => rebuildDerived(kv, sourceOf(kv, group), durable),
  stamp: stampPayload,
  encodeCreate: (request) => encodeCatalogEntry({ kind: 'create', ...request }),
  encodeDelete: ({ name, databaseId }) =>
    encodeCatalogEntry({ kind: 'delete', name, ...(databaseId === undefined ? {} : { databaseId }) }),
  encodePlace: (request) => encodeCatalogEntry({ kind: 'place', ...request }),
  encodePlaced: (request) => encodeCatalogEntry({ kind: 'placed', ...request }),
  encodeRegister: (registration) => encodeCatalogEntry({ kind: 'register', registration }),
  rowsOf: (group) => ({ gte: groupPrefix(group), lt: groupPrefix(group + 1) }),
};

class DatabaseAdapter implements Machine {
  readonly #machine: DatabaseMachine;

  constructor(machine: DatabaseMachine) {
    this.#machine = machine;
  }

  get applied(): AppliedMark {
    return this.#machine.applied;
  }

  get members(): HeldMembership {
    return held(this.#machine.applied.group);
  }

  get recordedTimeMs(): number {
    return this.#machine.recordedTimeMs;
  }

  needs(payload: Uint8Array): readonly RangeNeed[] {
    return payload.length === 0 ? [] : this.#machine.needs(payload);
  }

  async answer(needs: readonly RangeNeed[]): Promise<readonly number[]> {
    return this.#machine.answer(needs);
  }

  apply({ index, term, payload, answers, membership }: MachineEntry): Outcome | undefined {
    if (payload.length > 0) return this.#machine.apply({ index, term, payload, answers });
    this.#machine.advance(index, term, membership && encodeMembership(membership));
    return undefined;
  }

  flushInto(batch: KvBatch): void {
    this.#machine.flushInto(batch);
  }

  flushed(): void {
    this.#machine.flushed();
  }

  async warm(): Promise<void> {
    await this.#machine.warm();
  }
}

class CatalogAdapter implements CatalogPort {
  readonly #machine: CatalogMachine;
  /** Creations carry their own time. */
  readonly recordedTimeMs = 0;

  constructor(machine: CatalogMachine) {
    this.#machine = machine;
  }

  get applied(): AppliedMark {
    return this.#machine.applied;
  }

  get members(): HeldMembership {
    return held(this.#machine.applied.group);
  }

  list(): readonly Binding[] {
    return this.#machine.list();
  }

  nodes(): readonly RegisteredNode[] {
    return this.#machine.nodes();
  }

  needs(): readonly never[] {
    return [];
  }

  async answer(): Promise<readonly number[]> {
    return [];
  }

  apply({ index, term, payload, membership }: MachineEntry): Outcome | undefined {
    if (payload.length > 0) return this.#machine.apply({ index, term, payload });
    this.#machine.advance(index, term, membership && encodeMembership(membership));
    return undefined;
  }

  flushInto(batch: KvBatch): void {
    this.#machine.flushInto(batch);
  }

  flushed(): void {
    // The catalog reads the store only when it is opened.
  }

  async warm(): Promise<void> {
    // The catalog is in memory as a whole.
  }
}

function held({ index, membership }: Applied['group']): HeldMembership {
  const decoded = decodeMembership(membership);
  assert(typeof decoded !== 'string', 'An applied row holds the membership that was put into it', decoded);
  return { index, membership: decoded };
}

function sourceOf(kv: KvReader, group: GroupId): DatabaseSource {
  return { kv, group, crc32: nativeCrc32, sha256: nativeSha256 };
}

function groupPrefix(group: number): Uint8Array {
  return new KeyWriter().u8(GROUP_ROWS).u32(group).key();
}

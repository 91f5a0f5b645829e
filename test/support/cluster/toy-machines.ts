/**
 * Small state machines that keep the contract of `Machines`, so that the runtime is tested by itself.
 *
 * A payload is `u8 kind, 8 bytes recorded time, text`. A database keeps one row per revision (its text, time and a
 * running checksum of its history) beside the applied row; the texts `expect N` and `count` decide something:
 * the first is violated unless the revision is N, the second asks the store how many rows there are and stores the
 * answer. The catalog keeps one row per binding. Values are JSON: nothing here is a format of ours.
 */
import {
  assert,
  CATALOG_GROUP,
  type GroupId,
  LEVEL_FIRST,
  type NodeId,
  type ReplicaId,
  type Revision,
  toDatabaseId,
  toGroupId,
  toLogIndex,
  toNodeId,
  toRevision,
} from '#base';
import type {
  AppliedMark,
  Binding,
  CatalogChange,
  CatalogMachine,
  CheckedPart,
  HeldMembership,
  Machine,
  MachineEntry,
  Machines,
  NodeRegistration,
  Outcome,
  RegisteredNode,
  StatePart,
} from '#cluster';
import { KeyWriter, type KvBatch, type KvReader } from '#kv';
import type { Membership } from '#raft';
import { loadsOf } from '../../../src/cluster/placement/spread.ts';
import { place, settle } from '../../../src/database/catalog-placements.ts';
import {
  type AppliedRow,
  appliedKey,
  type CatalogRow,
  first,
  HEADER_BYTES,
  historyRows,
  json,
  KIND,
  NOTHING,
  nextChecksum,
  parse,
  payload,
  type RevisionRow,
  readApplied,
  readCatalog,
  revisionKey,
  textOf,
  timeOf,
} from './toy-rows.ts';

export function transactPayload(text: string): Uint8Array {
  return payload(KIND.transact, text);
}

/** Every transaction of a database, as the store has it. */
export async function historyOf(kv: KvReader, group: GroupId): Promise<readonly RevisionRow[]> {
  const range = kv.range(historyRows(group));
  const rows: RevisionRow[] = [];
  for (let some = await range.next(100); some.length > 0; some = await range.next(100)) {
    for (const { value } of some) rows.push(parse(value) as RevisionRow);
  }
  await range.close();
  return rows;
}

export function storedRevision(kv: KvReader, group: GroupId): Revision {
  return readApplied(kv, group)?.revision ?? toRevision(0);
}

export const toyMachines: Machines = {
  openCatalog: (kv, founders) => new ToyCatalog(kv, founders),
  createDatabase: (kv, binding, founders) =>
    new ToyDatabase(kv, binding.group, { ...NOTHING, members: first(founders) }),
  storedLevel: () => LEVEL_FIRST,
  storedNodes: () => [],
  levelOf: () => LEVEL_FIRST,
  markOf: readApplied,
  openDatabase: (kv, group) => {
    const applied = readApplied(kv, group);
    return applied === undefined ? undefined : new ToyDatabase(kv, group, applied);
  },
  verify: async (kv, group, durable) => {
    const rows = await historyOf(kv, group);
    const applied = readApplied(kv, group);
    assert(applied !== undefined, 'What is verified was created', group);
    let checksum = durable.revision === 0 ? 0 : (rows[durable.revision - 1]?.checksum ?? -1);
    for (const row of rows.slice(durable.revision)) {
      checksum = nextChecksum(checksum, row.text);
      if (checksum !== row.checksum) return false;
    }
    return rows.length === applied.revision && checksum === applied.checksum;
  },
  rebuild: async (kv, group, durable) => {
    const batch = kv.batch();
    const rows = await historyOf(kv, group);
    const last = rows[durable.revision - 1];
    const { members: known, logStart = toLogIndex(0) } = readApplied(kv, group) ?? {};
    const isLogged = known === undefined || logStart <= durable.index || known.index <= durable.index;
    const members = isLogged ? known : { ...known, index: durable.index };
    const range = kv.range({ ...historyRows(group), gte: revisionKey(group, durable.revision + 1) });
    for (const { key } of await range.next(10_000)) batch.del(key);
    await range.close();
    batch.put(appliedKey(group), json({ ...NOTHING, ...last, ...durable, members }));
    await kv.write(batch, { sync: true });
  },
  exportState: async (kv, group, standing) => {
    const applied = group === CATALOG_GROUP ? readCatalog(kv) : readApplied(kv, group);
    assert(applied !== undefined, 'What is exported was applied', group);
    const { index, term, members, revision } = applied;
    const rows = group === CATALOG_GROUP ? [] : (await historyOf(kv, group)).slice(0, revision);
    let at = Math.min((parse(standing) as Standing).from, rows.length);
    const next = async (bytesMax: number): Promise<StatePart> => {
      const some = rows.slice(at, at + Math.max(1, Math.floor(bytesMax / 1000)));
      const from = at + 1;
      at += some.length;
      const isLast = at >= rows.length;
      const last = isLast ? { index, term } : (some.at(-1)?.last ?? { index, term });
      const content = group === CATALOG_GROUP ? applied : { first: from, rows: some };
      return { data: json(content), last, isLast };
    };
    return { members, next };
  },
  importState: (_kv, group, machine) => {
    let from: number = machine.applied.revision;
    return {
      resume: () => json({ from }),
      take: ({ data, last }) => {
        if (group === CATALOG_GROUP) return { last, basis: 0, bytes: data.length, content: parse(data) };
        const content = parse(data) as ToyPart;
        if (content.first > from + 1) return `it begins at ${content.first}, behind ${from}`;
        from = Math.max(from, content.first - 1 + content.rows.length);
        return { last, basis: content.first - 1, bytes: data.length, content };
      },
    };
  },
  stamp: (bytes, recordedTimeMs) => {
    new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).setFloat64(1, recordedTimeMs);
  },
  faultInForwarded: () => undefined,
  encodeCreate: (request) => payload(KIND.create, JSON.stringify(request)),
  encodeDelete: (request) => payload(KIND.delete, JSON.stringify(request)),
  encodePlace: (request) => payload(KIND.place, JSON.stringify(request)),
  encodePlaced: (request) => payload(KIND.place, JSON.stringify(request)),
  standingOf: () => undefined,
  copyOrigin: unrecovered,
  recoverInto: unrecovered,
  encodeRecover: unrecovered,
  encodeRegister: (registration) => payload(KIND.register, JSON.stringify(registration)),
  encodeRaise: (request) => payload(KIND.raise, JSON.stringify(request)),
  encodeMark: (request) => payload(KIND.mark, JSON.stringify(request)),
  rowsOf: (group) => ({
    gte: new KeyWriter().u8(1).u32(group).key(),
    lt: new KeyWriter()
      .u8(1)
      .u32(group + 1)
      .key(),
  }),
};

class ToyDatabase implements Machine {
  readonly #kv: KvReader;
  readonly #group: GroupId;
  #applied: AppliedRow;
  #rows = new Map<number, RevisionRow>();
  #inFlight = new Map<number, RevisionRow>();

  constructor(kv: KvReader, group: GroupId, applied: AppliedRow) {
    this.#kv = kv;
    this.#group = group;
    this.#applied = applied;
  }

  get applied(): AppliedMark {
    const { index, term, revision, logStart } = this.#applied;
    return { index, term, revision, logStart };
  }

  get members(): HeldMembership {
    return this.#applied.members;
  }

  install({ content, last }: CheckedPart & { readonly content: ToyPart }, members: HeldMembership): readonly never[] {
    assert(last.index > this.#applied.index, 'A snapshot goes further', [this.#applied.index, last.index]);
    const { revision: before } = this.#applied;
    assert(content.first <= before + 1, 'A part goes on where the state ends', [before, content.first]);
    for (const row of content.rows.slice(before + 1 - content.first)) {
      const revision = toRevision(this.#applied.revision + 1);
      const { recordedTimeMs } = row;
      const checksum = nextChecksum(this.#applied.checksum, row.text);
      assert(checksum === row.checksum, 'A history that is taken over goes on from here', [revision, row.text]);
      this.#rows.set(revision, row);
      this.#applied = { ...this.#applied, revision, recordedTimeMs, checksum };
    }
    const held = { index: toLogIndex(Math.min(members.index, last.index)), membership: members.membership };
    this.#applied = { ...this.#applied, ...last, logStart: last.index, members: held };
    return [];
  }

  get recordedTimeMs(): number {
    return this.#applied.recordedTimeMs;
  }

  needs(bytes: Uint8Array): readonly string[] {
    return bytes.length > 0 && textOf(bytes) === 'count' ? ['count'] : [];
  }

  async answer(needs: readonly unknown[]): Promise<readonly number[]> {
    assert(this.#rows.size + this.#inFlight.size === 0, 'A machine looks into the store when all it knows is there');
    const { length } = await historyOf(this.#kv, this.#group);
    return needs.map(() => length);
  }

  apply({ index, term, payload: bytes, answers, membership }: MachineEntry): Outcome | undefined {
    assert(index === this.#applied.index + 1, 'Entries are applied in order', [this.#applied.index, index]);
    this.#applied = { ...this.#applied, index, term, ...(membership && { members: { index, membership } }) };
    if (bytes.length === 0) return undefined;
    if (bytes[0] !== KIND.transact) throw new Error(`Kind ${bytes[0]} is unknown`);
    const text = textOf(bytes);
    const { revision: basis, recordedTimeMs: before } = this.#applied;
    const expected = /^expect (\d+)$/.exec(text)?.[1];
    if (expected !== undefined && Number(expected) !== basis)
      return { kind: 'violated', revision: basis, violations: [] };
    const recordedTimeMs = timeOf(bytes);
    assert(recordedTimeMs >= before, 'Recorded time never goes back', [before, recordedTimeMs]);
    const stored = text === 'count' ? `count ${answers[0]}` : text;
    const revision = toRevision(basis + 1);
    const checksum = nextChecksum(this.#applied.checksum, stored);
    this.#applied = { ...this.#applied, revision, recordedTimeMs, checksum };
    this.#rows.set(revision, { text: stored, recordedTimeMs, checksum, last: { index, term } });
    return { kind: 'committed', revision, basis, recordedTimeMs, eventCount: 1, storedIds: [] };
  }

  flushInto(batch: KvBatch): void {
    for (const [revision, row] of this.#rows) {
      assert(this.#kv.get(revisionKey(this.#group, revision)) === undefined, 'A revision is written once', revision);
      batch.put(revisionKey(this.#group, revision), json(row));
    }
    assert(this.#inFlight.size === 0, 'A batch is written before the next one begins');
    this.#inFlight = this.#rows;
    this.#rows = new Map();
    batch.put(appliedKey(this.#group), json(this.#applied));
  }

  flushed(): void {
    this.#inFlight = new Map();
  }

  async warm(): Promise<void> {}
}

/** Whoever stands there has so many revisions. */
interface Standing {
  readonly from: number;
}

/** Revisions from `first` on. */
interface ToyPart {
  readonly first: number;
  readonly rows: readonly RevisionRow[];
}

interface CatalogRequest {
  readonly name: string;
  readonly databaseId?: string;
  readonly createdAtMs?: number;
  readonly replicas?: readonly ReplicaId[];
}

type MarkRequest = Pick<RegisteredNode, 'node' | 'state'>;

/** Without nodes: the placement is settled. */
interface PlaceRequest {
  readonly group: GroupId;
  readonly placement: number;
  readonly nodes?: readonly NodeId[];
}

class ToyCatalog implements CatalogMachine {
  #row: CatalogRow;

  constructor(kv: KvReader, founders: Membership) {
    const value = kv.get(appliedKey(toGroupId(0)));
    const empty = { ...NOTHING, members: first(founders), nextGroup: 1, bindings: [], nodes: [] };
    this.#row = value === undefined ? empty : (parse(value) as CatalogRow);
  }

  get members(): HeldMembership {
    return this.#row.members;
  }

  get applied(): AppliedMark {
    const { index, term, revision, logStart } = this.#row;
    return { index, term, revision, logStart };
  }

  readonly recordedTimeMs = 0;

  needs(): readonly never[] {
    return [];
  }

  async answer(): Promise<readonly number[]> {
    return [];
  }

  flushed(): void {}

  async warm(): Promise<void> {}

  list(): readonly Binding[] {
    return this.#row.bindings;
  }

  apiKeys(): readonly never[] {
    return [];
  }

  lookup(name: string): Binding | undefined {
    return this.#row.bindings.find((binding) => binding.name === name);
  }

  bindingOf(group: GroupId): Binding | undefined {
    return this.#row.bindings.find((binding) => binding.group === group);
  }

  get copies(): ReadonlyMap<NodeId, number> {
    return loadsOf(this.#row.bindings);
  }

  nodes(): readonly RegisteredNode[] {
    return this.#row.nodes;
  }

  /** It knows one level. */
  readonly level = LEVEL_FIRST;

  apply({ index, term, payload: bytes, membership }: MachineEntry): Outcome | undefined {
    assert(index === this.#row.index + 1, 'Entries are applied in order', [this.#row.index, index]);
    this.#row = { ...this.#row, index, term, ...(membership && { members: { index, membership } }) };
    if (bytes.length === 0) return undefined;
    if (bytes[0] === KIND.place) return this.#place(parse(bytes.subarray(HEADER_BYTES)) as PlaceRequest);
    if (bytes[0] === KIND.register) return this.#register(parse(bytes.subarray(HEADER_BYTES)) as NodeRegistration);
    if (bytes[0] === KIND.mark) return this.#mark(parse(bytes.subarray(HEADER_BYTES)) as MarkRequest);
    const request = parse(bytes.subarray(HEADER_BYTES)) as CatalogRequest;
    const bound = this.#row.bindings.find(({ name }) => name === request.name);
    return bytes[0] === KIND.create ? this.#create(request, bound) : this.#delete(request, bound);
  }

  install({ content }: CheckedPart & { readonly content: CatalogRow }): readonly CatalogChange[] {
    const before = this.#row;
    assert(content.index > before.index, 'A snapshot goes further', [before.index, content.index]);
    this.#row = { ...content, logStart: content.index };
    const has = (bindings: readonly Binding[], { group }: Binding): boolean =>
      bindings.some((other) => other.group === group);
    const gone = before.bindings.filter((binding) => !has(content.bindings, binding));
    const created = content.bindings.filter((binding) => !has(before.bindings, binding));
    const heldSo = new Set(before.bindings.map((binding) => JSON.stringify(binding)));
    const moved = content.bindings.filter(
      (binding) => has(before.bindings, binding) && !heldSo.has(JSON.stringify(binding)),
    );
    const known = new Set(before.nodes.map((node) => JSON.stringify(node)));
    const registered = content.nodes.filter((node) => !known.has(JSON.stringify(node)));
    return [
      ...registered.map((node) => ({ kind: 'registered' as const, node, isNew: true })),
      ...gone.map((binding) => ({ kind: 'deleted' as const, binding })),
      ...created.map((binding) => ({ kind: 'created' as const, binding })),
      ...moved.map((binding) => ({ kind: 'moved' as const, binding })),
    ];
  }

  flushInto(batch: KvBatch): void {
    batch.put(appliedKey(toGroupId(0)), json(this.#row));
  }

  #register(registration: NodeRegistration): Outcome {
    const { nodes } = this.#row;
    const known = nodes.find(({ storeId }) => storeId === registration.storeId);
    const node = { ...registration, node: known?.node ?? toNodeId(nodes.length + 1), state: 'active' as const };
    if (JSON.stringify(node) === JSON.stringify(known)) return { kind: 'known', node };
    const others = nodes.filter((each) => each !== known);
    this.#row = { ...this.#row, nodes: [...others, node].toSorted((one, other) => one.node - other.node) };
    return { kind: 'registered', node, isNew: known === undefined };
  }

  #mark({ node: number, state }: MarkRequest): Outcome {
    const known = this.#row.nodes.find(({ node }) => node === number);
    if (known === undefined || known.state === state) return { kind: 'unmoved' };
    const node = { ...known, state };
    this.#row = { ...this.#row, nodes: this.#row.nodes.map((each) => (each === known ? node : each)) };
    return { kind: 'registered', node, isNew: false };
  }

  #place({ group, placement, nodes }: PlaceRequest): Outcome {
    const before = this.#row.bindings.find((each) => each.group === group);
    if (before === undefined) return { kind: 'unmoved' };
    const binding = nodes === undefined ? settle(before, placement) : place(before, placement, nodes);
    if (binding === undefined) return { kind: 'unmoved' };
    this.#row = { ...this.#row, bindings: this.#row.bindings.map((each) => (each === before ? binding : each)) };
    return { kind: 'moved', binding };
  }

  #create(request: CatalogRequest, bound: Binding | undefined): Outcome {
    if (bound !== undefined) return { kind: 'exists', binding: bound };
    const { name, databaseId = '', createdAtMs = 0, replicas = [] } = request;
    const group = toGroupId(this.#row.nextGroup);
    const held = { replicas, leaving: [], founders: replicas, placement: 0, isSettled: true };
    const binding = { name, databaseId: toDatabaseId(databaseId), group, createdAtMs, ...held };
    this.#row = { ...this.#row, nextGroup: group + 1, bindings: [...this.#row.bindings, binding] };
    return { kind: 'created', binding };
  }

  #delete(request: CatalogRequest, bound: Binding | undefined): Outcome {
    const isOther = request.databaseId !== undefined && request.databaseId !== bound?.databaseId;
    if (bound === undefined || isOther) return { kind: 'absent' };
    this.#row = { ...this.#row, bindings: this.#row.bindings.filter((each) => each !== bound) };
    return { kind: 'deleted', binding: bound };
  }
}

/** Recoveries are tried with the real machines. */
function unrecovered(): never {
  throw new Error('A toy is not recovered');
}

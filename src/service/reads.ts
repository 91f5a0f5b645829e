/**
 * The way from an instance to its rows, and the care that takes while it may be deleted.
 *
 * Deleting happens in another isolate: rows may vanish under a reader before this one hears of it. What then looks like
 * corruption is no failure of the node, so a read that finds rows missing or corrupt asks first whether its database is
 * still there (V6).
 */
import {
  type Crc32,
  DatabaseError,
  nodeOf,
  parseUuid,
  type ReplicaId,
  type Revision,
  type Sha256,
  toRevision,
} from '#base';
import { type Binding, type Node, rootOf } from '#cluster';
import {
  type DatabaseFacts,
  type DatabaseSource,
  type Definitions,
  databaseAtRevision,
  lastDefinition,
  PageCache,
  ReadDefinitions,
} from '#query';
import { databaseDeleted } from './errors.ts';
import { mayLackRows } from './fatal.ts';
import { goneFrom, untilCurrent } from './instance.ts';
import type { DatabaseDescription } from './operations.ts';

/** The two digests, by native code. */
export interface Digests {
  readonly crc32: Crc32;
  readonly sha256: Sha256;
}

export class Reads {
  readonly #node: Node;
  readonly #digests: Digests;
  readonly #pages: PageCache;
  /** By what the catalog says of the copy, which changes whenever this node gives it up or gets another one (D24). */
  readonly #definitions = new WeakMap<Binding, ReadDefinitions>();
  /** Of the revision of a copy that was asked for last: most who ask for one ask for that (SPEC-HTTP-R1). */
  readonly #facts = new WeakMap<Binding, DatabaseFacts>();

  constructor(node: Node, digests: Digests) {
    this.#node = node;
    this.#digests = digests;
    this.#pages = new PageCache(node.reader);
  }

  /**
   * Rows of the instance. What the catalog says of it changes whenever this node gives its copy up or gets one (D18).
   */
  source(binding: Binding): DatabaseSource {
    const pages = { cache: this.#pages, owner: binding };
    return { kv: this.#node.reader, group: binding.group, pages, ...this.#digests };
  }

  /** The instance as it was at a revision that is applied here. */
  describe(binding: Binding, revision: Revision): DatabaseDescription {
    const common = {
      databaseName: binding.name,
      databaseId: binding.databaseId,
      revision,
      createdAtMs: binding.createdAtMs,
      latestRevision: latestOf(this.#node.answered(binding.group), revision),
    };
    if (revision === 0) {
      const chainHash = this.#digests.sha256([parseUuid(rootOf(binding)) ?? new Uint8Array(0)]);
      return { ...common, basis: revision, revisionTimeMs: binding.createdAtMs, eventCount: 0, chainHash };
    }
    const facts = this.#factsOf(binding, revision);
    return {
      ...common,
      basis: toRevision(facts.basis),
      revisionTimeMs: facts.timestampMs,
      eventCount: facts.totalEvents,
      chainHash: facts.chainHash,
    };
  }

  /** They never change, and have bytes of their own: a view of a page would keep all of it. */
  #factsOf(binding: Binding, revision: Revision): DatabaseFacts {
    const known = this.#facts.get(binding);
    if (known?.revision === revision) return known;
    const read = databaseAtRevision(this.source(binding), revision);
    const facts = { ...read, chainHash: Uint8Array.from(read.chainHash) };
    this.#facts.set(binding, facts);
    return facts;
  }

  /** A number that is higher whenever something else is defined in the instance; 0: nothing ever was. */
  lastDefinition(binding: Binding): Promise<number> {
    return this.read(binding, () => lastDefinition(this.source(binding)));
  }

  /** What is defined in the instance, as far as the rows here go. */
  definitions(binding: Binding): Promise<Definitions> {
    const known = this.#definitions.get(binding);
    const definitions = known ?? new ReadDefinitions(this.source(binding));
    if (known === undefined) this.#definitions.set(binding, definitions);
    return this.read(binding, () => definitions.current());
  }

  /** Runs a read of an instance. */
  async read<Answer>(binding: Binding, work: () => Answer | Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (failure) {
      throw await this.#judge(binding, failure);
    }
  }

  /**
   * Passes the slices of a read of an instance on, and ends with not_found as soon as the instance is gone, and with
   * unavailable when this node cannot know whether it is (V11).
   */
  async *stream<Slice>(binding: Binding, slices: AsyncIterable<Slice>, signal: AbortSignal): AsyncGenerator<Slice> {
    try {
      for await (const slice of slices) {
        await untilCurrent(this.#node, binding, signal);
        yield slice;
      }
    } catch (failure) {
      throw await this.#judge(binding, failure);
    }
  }

  /** What the caller is told: the failure, unless it comes from reading what is being deleted, or was given up. */
  async #judge(binding: Binding, failure: unknown): Promise<unknown> {
    if (!mayLackRows(failure)) return failure;
    const node = this.#node;
    // Whatever comes of it comes behind what the core knew of the catalog when it cleared the rows (C6).
    const gone = await node.confirmedLatest(binding.group).then(() => false, isNotFound);
    if (gone) return databaseDeleted(binding.name);
    const own = ownReplica(node, binding);
    const now = node.catalog.lookup(binding.name);
    const isSame = own !== undefined && now?.databaseId === binding.databaseId && ownReplica(node, now) === own;
    return isSame ? failure : goneFrom(node, binding);
  }
}

function latestOf(answered: Revision, revision: Revision): Revision {
  return answered > revision ? answered : revision;
}

/** The copy of this node. */
function ownReplica({ identity }: Node, { replicas }: Binding): ReplicaId | undefined {
  return replicas.find((replica) => nodeOf(replica) === identity.node);
}

function isNotFound(failure: unknown): boolean {
  return failure instanceof DatabaseError && failure.code === 'not_found';
}

/**
 * Reads the rows of an instance, also while it may be deleted.
 *
 * Another thread deletes rows, so they may vanish under a reader before this thread knows of the deletion. A read
 * that finds rows missing or corrupt therefore first checks whether its database still exists (V6); only then is it a
 * failure of the node.
 */
import { DatabaseError, parseUuid, type Revision, type Sha256, toRevision } from '#base';
import { type Binding, type Node, ownReplica, rootOf } from '#cluster';
import {
  type DatabaseFacts,
  type DatabaseSource,
  type Definitions,
  databaseAtRevision,
  lastDefinition,
  ReadDefinitions,
} from '#query';
import { databaseDeleted } from './errors.ts';
import { mayLackRows } from './fatal.ts';
import { goneFrom, untilCurrent } from './instance.ts';
import type { DatabaseDescription } from './operations.ts';

export class Reads {
  readonly #node: Node;
  /** In native code. */
  readonly #sha256: Sha256;
  /**
   * Keyed by binding: the catalog creates a new one whenever this node removes its replica or gets another one (D24).
   */
  readonly #definitions = new WeakMap<Binding, ReadDefinitions>();
  /** Facts of the last requested revision of a replica; most requests are for the same revision (SPEC-HTTP-R1). */
  readonly #facts = new WeakMap<Binding, DatabaseFacts>();

  constructor(node: Node, sha256: Sha256) {
    this.#node = node;
    this.#sha256 = sha256;
  }

  /** Rows of the instance. The binding changes whenever this node removes its replica or gets one (D18). */
  source(binding: Binding): DatabaseSource {
    return { kv: this.#node.reader, group: binding.group, sha256: this.#sha256, owner: binding };
  }

  /** The instance at a revision that is applied here. */
  async describe(binding: Binding, revision: Revision): Promise<DatabaseDescription> {
    const common = {
      databaseName: binding.name,
      databaseId: binding.databaseId,
      revision,
      createdAtMs: binding.createdAtMs,
      latestRevision: latestOf(this.#node.answered(binding.group), revision),
    };
    if (revision === 0) {
      const chainHash = this.#sha256([parseUuid(rootOf(binding)) ?? new Uint8Array(0)]);
      return { ...common, basis: revision, revisionTimeMs: binding.createdAtMs, eventCount: 0, chainHash };
    }
    const facts = await this.#factsOf(binding, revision);
    return {
      ...common,
      basis: toRevision(revision - 1),
      revisionTimeMs: facts.recordedTimeMs,
      eventCount: facts.totalEvents,
      chainHash: facts.chainHash,
    };
  }

  /** Facts never change. They own their bytes, because a view would keep a whole block in memory. */
  async #factsOf(binding: Binding, revision: Revision): Promise<DatabaseFacts> {
    const known = this.#facts.get(binding);
    if (known?.revision === revision) return known;
    const { recordedTimeMs, totalEvents, chainHash } = await databaseAtRevision(this.source(binding), revision);
    const facts = { revision, recordedTimeMs, totalEvents, chainHash: Uint8Array.from(chainHash) };
    this.#facts.set(binding, facts);
    return facts;
  }

  /** A number that grows with every definition in the instance; 0 when nothing was defined. */
  lastDefinition(binding: Binding): Promise<number> {
    return this.read(binding, () => lastDefinition(this.source(binding)));
  }

  /** The definitions of the instance, as far as the local rows go. */
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
   * Passes on the slices of a read. Fails with not_found as soon as the instance is gone, and with unavailable when
   * this node cannot know (V11).
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

  /** The error for the caller: the failure, unless it is the effect of a deletion or a cancellation. */
  async #judge(binding: Binding, failure: unknown): Promise<unknown> {
    if (!mayLackRows(failure)) return failure;
    const node = this.#node;
    // The answer includes what the core knew of the catalog when it deleted the rows (C6).
    const gone = await node.confirmedLatest(binding.group).then(() => false, isNotFound);
    if (gone) return databaseDeleted(binding.name);
    const own = ownReplica(node.identity, binding);
    const now = node.catalog.lookup(binding.name);
    const isSame =
      own !== undefined && now?.databaseId === binding.databaseId && ownReplica(node.identity, now) === own;
    return isSame ? failure : goneFrom(node, binding);
  }
}

function latestOf(answered: Revision, revision: Revision): Revision {
  return answered > revision ? answered : revision;
}

function isNotFound(failure: unknown): boolean {
  return failure instanceof DatabaseError && failure.code === 'not_found';
}

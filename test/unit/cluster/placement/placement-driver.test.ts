// Goal: at most the maximum number of databases move at a time (C19), also when proposals take long to commit and other
// nodes answer by then. Method: a scripted leader of the catalog.
import { expect, it } from 'vitest';
import { CATALOG_GROUP, type NodeId, replicaOf, toLogIndex, toNodeId, toTerm } from '#base';
import { type Binding, LIMITS } from '#cluster';
import { type Input, membershipOf } from '#raft';
import type { Group } from '../../../../src/cluster/group/group.ts';
import type { CatalogMachine, Machines } from '../../../../src/cluster/machine.ts';
import { PlacementDriver } from '../../../../src/cluster/placement/placement-driver.ts';
import { bindingOn } from '../../../support/cluster/layouts.ts';

const TERM = toTerm(3);
const NODES = [1, 2, 3, 4, 5].map(toNodeId);
const UPKEEP = { copies: 3, replaceAfterMs: undefined };

/**
 * Node 1 leads the catalog of five nodes. Databases 1 to 6 lack a replica on node 4 or 5, the others on node 2 or 3.
 */
class Leader {
  readonly id = CATALOG_GROUP;
  readonly isReady = true;
  readonly proposals = { offer: () => undefined };
  readonly planned: number[][] = [];
  readonly #bindings: readonly Binding[] = Array.from({ length: 12 }, (_, at) =>
    bindingOn(at + 1, at < 6 ? [1, 2] : [1, 4]),
  );
  #silent: readonly number[] = [];
  #lastIndex = 10;
  #appliedIndex = 10;

  get raft(): unknown {
    const base = { index: toLogIndex(this.#lastIndex), term: TERM };
    const progress = { kind: 'replicate', match: base.index };
    const peerOf = (node: NodeId): unknown => ({
      progress,
      heardMs: this.#silent.includes(node) ? -10_000 : 0,
      hasAnswered: true,
    });
    return {
      config: {
        self: replicaOf(toNodeId(1)),
        electionWindowMs: LIMITS.electionWindowMs,
        replication: { catchUpEntriesMax: 128 },
      },
      hardState: { term: TERM, vote: undefined },
      membership: membershipOf(NODES.map((node) => replicaOf(node))),
      log: { base, runs: [] },
      role: { kind: 'leader', peers: new Map(NODES.map((node) => [replicaOf(node), peerOf(node)])) },
    };
  }

  silence(nodes: readonly number[]): void {
    this.#silent = nodes;
  }

  /** Commits the proposals without a change of the placements. */
  apply(): void {
    this.#appliedIndex = this.#lastIndex;
  }

  driver(): PlacementDriver {
    const catalog = {
      nodes: () => NODES.map((node) => ({ node, zone: 'a', state: 'active' })),
      list: () => this.#bindings,
      copies: new Map<NodeId, number>(),
    };
    const step = (_group: Group, input: Input): void => {
      const payloads = input.kind === 'propose' ? input.payloads : [];
      this.planned.push(payloads.map(([group = 0]) => group));
      this.#lastIndex += payloads.length;
    };
    return new PlacementDriver({
      upkeep: UPKEEP,
      machines: { encode: ({ group }: { readonly group: number }) => Uint8Array.of(group) } as unknown as Machines,
      limits: LIMITS,
      catalog: () => ({ ...catalog, applied: { index: this.#appliedIndex } }) as unknown as CatalogMachine,
      find: () => this as unknown as Group,
      monotonicMs: () => 0,
      step,
      isLeaving: () => false,
      reviewCatalog: () => undefined,
    });
  }
}

it('the leader of the catalog plans no further moves before its proposals are in the catalog', () => {
  const leader = new Leader();
  const driver = leader.driver();
  driver.drive(0);
  expect(leader.planned).toEqual([[1, 2, 3, 4]]);
  // Databases 1 to 6 seem unable to move now, but others could.
  leader.silence([2]);
  driver.drive(LIMITS.placementLookMs);
  driver.drive(2 * LIMITS.placementLookMs);
  expect(leader.planned).toEqual([[1, 2, 3, 4]]);
  leader.apply();
  driver.drive(3 * LIMITS.placementLookMs);
  expect(leader.planned).toEqual([
    [1, 2, 3, 4],
    [7, 8, 9, 10],
  ]);
});

/**
 * Requests to the catalog that wait for an answer: proposes their entries when this node leads the catalog, and
 * otherwise names the leader.
 *
 * A request is answered by the applied state of the catalog, not by the outcome of its own entry: as soon as the state
 * is as requested, that is the answer, whichever entry caused it. Requests may therefore be repeated, lost and
 * reordered.
 */
import { type Address, CATALOG_GROUP, type GroupId, type NodeId, nodeOf } from '#base';
import { type EntryId, type Input, lastId, ORIGIN } from '#raft';
import type { Group } from '../group/group.ts';
import type { CoreLimits } from '../limits.ts';
import type { CatalogMachine } from '../machine.ts';

/** This node cannot answer. */
export type Passed =
  /** Another node leads the catalog. */
  { readonly kind: 'elsewhere'; readonly leader: Address } | { readonly kind: 'later'; readonly reason: string };

export interface CatalogRequestsPorts {
  readonly catalog: () => CatalogMachine;
  readonly find: (id: GroupId) => Group | undefined;
  readonly limits: CoreLimits;
  readonly monotonicMs: () => number;
  readonly step: (group: Group, input: Input) => void;
  readonly turns: { run(work: () => void): void };
}

export interface CatalogRequest<Answer> {
  /**
   * Answer from the local catalog; undefined when the request is not fulfilled yet. Only the leader has the latest
   * state (`isLatest`).
   */
  readonly answer: (isLatest: boolean) => Answer | undefined;
  /** Reason not to propose it, checked by the leader before the first proposal. */
  readonly fault: (group: Group) => Answer | Passed | undefined;
  readonly encode: () => Uint8Array;
  /** True when it waits for a leader as long as for an answer; without it the caller tries the next node. */
  readonly waitsForLeader?: true;
  /** Reason for a delayed answer, if it is not the usual one. */
  readonly late?: () => string | undefined;
}

interface Waiting {
  readonly request: CatalogRequest<unknown>;
  readonly signal: AbortSignal | undefined;
  readonly endMs: number;
  resolve(answer: unknown): void;
  /** Term of the proposal. */
  term: number;
}

export class CatalogRequests {
  readonly #ports: CatalogRequestsPorts;
  #waiting: readonly Waiting[] = [];
  /** The last proposed entry. */
  #proposed: EntryId = ORIGIN;

  constructor(ports: CatalogRequestsPorts) {
    this.#ports = ports;
  }

  /** Never rejects; unanswered if the core fails. `signal`: its caller has gone. */
  ask<Answer>(request: CatalogRequest<Answer>, signal?: AbortSignal): Promise<Answer | Passed> {
    const { limits, monotonicMs, turns } = this.#ports;
    const { promise, resolve } = Promise.withResolvers<Answer | Passed>();
    const endMs = monotonicMs() + limits.leaderWaitMs;
    this.#waiting = [...this.#waiting, { request, signal, endMs, resolve, term: -1 }];
    turns.run(() => undefined);
    return promise;
  }

  /** Processes waiting requests. Called between steps. */
  settle(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    const left = waiting.filter((each) => {
      const answer = this.#answer(each);
      if (answer !== undefined) each.resolve(answer);
      return answer === undefined;
    });
    this.#waiting = [...left, ...this.#waiting];
  }

  #answer(waiting: Waiting): unknown {
    const { find, monotonicMs, catalog } = this.#ports;
    const { request, signal } = waiting;
    // The outcome of a proposed entry is awaited for the audit log.
    if (signal?.aborted === true && waiting.term < 0) return later('its caller has gone');
    const group = find(CATALOG_GROUP);
    const said = request.answer(group?.isReady === true);
    if (said !== undefined) return said;
    const isLate = monotonicMs() >= waiting.endMs;
    if (group !== undefined && group.leader === undefined) {
      return request.waitsForLeader === true && !isLate ? undefined : later('the catalog has no leader');
    }
    if (group === undefined || isLate) return later(request.late?.() ?? 'the catalog has not applied it yet');
    if (group.isOpening) return undefined;
    if (!group.isReady) return elsewhere(nodeOf(group.leader ?? group.self), catalog());
    // A request is checked against a catalog that includes the effects of earlier requests.
    if (waiting.term < 0 && this.#isUnderWay(group)) return undefined;
    const fault = waiting.term < 0 ? request.fault(group) : undefined;
    if (fault === undefined) this.#propose(group, waiting);
    return fault;
  }

  /** Proposes once per term, because the entry of a leader stays in the log as long as it leads. */
  #propose(group: Group, waiting: Waiting): void {
    const { term } = group.raft.hardState;
    if (waiting.term === term) return;
    waiting.term = term;
    this.#ports.step(group, { kind: 'propose', payloads: [waiting.request.encode()] });
    this.#proposed = lastId(group.raft.log);
  }

  /** Returns whether the last proposal is not applied yet. A leader of a later term starts with its applied state. */
  #isUnderWay({ raft }: Group): boolean {
    const { index, term } = this.#proposed;
    return term === raft.hardState.term && this.#ports.catalog().applied.index < index;
  }
}

export function later(reason: string): Passed {
  return { kind: 'later', reason };
}

/** The node to ask instead. */
function elsewhere(leader: NodeId, catalog: CatalogMachine): Passed {
  const { peer } = catalog.nodes().find(({ node }) => node === leader) ?? {};
  if (peer === undefined || peer.port === 0)
    return later(`node ${leader} leads the catalog, and has not said where it is`);
  return { kind: 'elsewhere', leader: peer };
}

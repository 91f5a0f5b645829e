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

export interface CatalogAsksPorts {
  readonly catalog: () => CatalogMachine;
  readonly find: (id: GroupId) => Group | undefined;
  readonly limits: CoreLimits;
  readonly monotonicMs: () => number;
  readonly step: (group: Group, input: Input) => void;
}

/** The part of a request that depends on its kind. */
export interface AskKind<Ask, Answer> {
  /**
   * Answer from the local catalog; undefined when the request is not fulfilled yet. Only the leader has the latest
   * state (`isLatest`).
   */
  readonly answer: (ask: Ask, isLatest: boolean) => Answer | undefined;
  /** Reason not to propose it, checked by the leader before the first proposal. */
  readonly fault: (ask: Ask, group: Group) => Answer | Passed | undefined;
  readonly encode: (ask: Ask) => Uint8Array;
  /** True when it waits for a leader as long as for an answer; without it the caller tries the next node. */
  readonly isPatient?: true;
  /** Reason for a delayed answer, if it is not the usual one. */
  readonly late?: (ask: Ask) => string | undefined;
}

interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly endMs: number;
  readonly resolve: (answer: Answer | Passed) => void;
  /** Term of the proposal. */
  term: number;
}

export class CatalogAsks<Ask, Answer> {
  readonly #ports: CatalogAsksPorts;
  readonly #kind: AskKind<Ask, Answer>;
  #waiting: readonly Waiting<Ask, Answer>[] = [];
  /** The last proposed entry. */
  #proposed: EntryId = ORIGIN;

  constructor(ports: CatalogAsksPorts, kind: AskKind<Ask, Answer>) {
    this.#ports = ports;
    this.#kind = kind;
  }

  /** A later call of `settle` answers it. */
  ask(ask: Ask): Promise<Answer | Passed> {
    const endMs = this.#ports.monotonicMs() + this.#ports.limits.leaderWaitMs;
    return new Promise((resolve) => {
      this.#waiting = [...this.#waiting, { ask, endMs, resolve, term: -1 }];
    });
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

  #answer(waiting: Waiting<Ask, Answer>): Answer | Passed | undefined {
    const { find, monotonicMs, catalog } = this.#ports;
    const group = find(CATALOG_GROUP);
    const said = this.#kind.answer(waiting.ask, group?.isReady === true);
    if (said !== undefined) return said;
    const isLate = monotonicMs() >= waiting.endMs;
    if (group !== undefined && group.leader === undefined) {
      return this.#kind.isPatient === true && !isLate ? undefined : later('the catalog has no leader');
    }
    if (group === undefined || isLate) {
      return later(this.#kind.late?.(waiting.ask) ?? 'the catalog has not applied it yet');
    }
    if (group.isOpening) return undefined;
    if (!group.isReady) return elsewhere(nodeOf(group.leader ?? group.self), catalog());
    // A request is checked against a catalog that includes the effects of earlier requests.
    if (waiting.term < 0 && this.#isUnderWay(group)) return undefined;
    const fault = waiting.term < 0 ? this.#kind.fault(waiting.ask, group) : undefined;
    if (fault === undefined) this.#propose(group, waiting);
    return fault;
  }

  /** Proposes once per term, because the entry of a leader stays in the log as long as it leads. */
  #propose(group: Group, waiting: Waiting<Ask, Answer>): void {
    const { term } = group.raft.hardState;
    if (waiting.term === term) return;
    waiting.term = term;
    // No request waits for the outcome of this entry.
    group.proposals.offer([]);
    this.#ports.step(group, { kind: 'propose', payloads: [this.#kind.encode(waiting.ask)] });
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

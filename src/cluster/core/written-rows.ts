/** After a batch is in the store, reports its outcomes and revisions to everything that waited for its rows. */
import { CATALOG_GROUP } from '#base';
import type { ApplyTurn } from '../apply/apply-turn.ts';
import type { Group } from '../group/group.ts';
import type { Histories } from '../group/histories.ts';
import type { ReadBarrier } from '../group/read-barrier.ts';
import type { Reporter } from '../reporter.ts';
import type { Intake } from '../requests/proposals.ts';
import type { Checkpointer } from './checkpoint.ts';
import type { ClusterWork } from './cluster-work.ts';
import type { CorePorts } from './core-ports.ts';
import type { Lifecycle } from './group-lifecycle.ts';

/** Receivers of the reports. */
export interface TellingParts {
  readonly reporter: Reporter;
  readonly checkpointer: Checkpointer;
  readonly lifecycle: Lifecycle;
  readonly intake: Intake;
  readonly reads: ReadBarrier;
  readonly cluster: ClusterWork;
  readonly histories: Histories;
}

export class WrittenRows {
  readonly #ports: Pick<CorePorts, 'monotonicMs' | 'observer'>;
  readonly #parts: TellingParts;

  constructor(ports: Pick<CorePorts, 'monotonicMs' | 'observer'>, parts: TellingParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** The batch of the turn is in the store, after so many milliseconds. */
  tell(turn: ApplyTurn, elapsedMs: number): void {
    const { cluster } = this.#parts;
    const nowMs = this.#ports.monotonicMs();
    this.#ports.observer.written({ entryCount: turn.entryCount, elapsedMs });
    this.#show(turn);
    for (const group of turn.groups) this.#afterApply(group, turn.bytesOf(group), nowMs);
    cluster.fence.settle(turn.settlements);
    cluster.written(turn);
  }

  /** Reports changes of the catalog to the front. */
  #show({ changes }: ApplyTurn): void {
    const { lifecycle, reporter, cluster } = this.#parts;
    const catalog = lifecycle.find(CATALOG_GROUP);
    if (changes.length === 0 || catalog === undefined) return;
    const { index } = catalog.written;
    reporter.catalog(changes, index);
    // A front that connects later starts with the catalog at that time.
    if (reporter.isHeard) cluster.fence.sentToFront(index);
  }

  #afterApply(group: Group, bytes: number, nowMs: number): void {
    if (!group.isOpen) return;
    const { checkpointer, reporter, reads, intake, histories } = this.#parts;
    checkpointer.markDirty(group, bytes, nowMs);
    histories.written(group);
    if (group.id !== CATALOG_GROUP) reporter.wrote({ group: group.id, revision: group.written.revision });
    reads.release(group);
    if (group.isReady) intake.release(group);
  }
}

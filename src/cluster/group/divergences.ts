/**
 * Diverged replicas of this node (R15): they are kept unchanged, and not used.
 *
 *   C42  A replica that differs from its group answers no reads, takes no part in votes or quorums, and is
 *        not changed. The node records it durably, so that a restart does not serve it either. The other
 *        replicas of the node continue.
 */
import type { GroupId, NodeId } from '#base';
import type { KvStore } from '#kv';
import type { Divergence } from '../link.ts';
import { divergedKey, readDiverged, writeDiverged } from '../store/node-rows.ts';
import type { Group } from './group.ts';
import type { GroupPorts } from './group-ports.ts';

export interface DivergencesPorts extends Pick<GroupPorts, 'kv' | 'reporter' | 'step'> {
  readonly leadership: { giveUpIn(group: Group): void };
  readonly turns: { keep(work: Promise<void>): void };
}

export class Divergences {
  readonly #ports: DivergencesPorts;
  readonly #known = new Map<GroupId, Divergence>();
  /** Found in a step that may still be in progress. */
  #found: Group[] = [];
  #writing: Promise<void> = Promise.resolve();

  constructor(ports: DivergencesPorts) {
    this.#ports = ports;
  }

  /** Diverged replicas of groups that may still be on this node. */
  get known(): Iterable<Divergence> {
    return this.#known.values();
  }

  get count(): number {
    return this.#known.size;
  }

  /** Reads the findings of earlier processes, before any group is opened. */
  async load(): Promise<void> {
    for await (const divergence of readDiverged(this.#ports.kv)) this.#known.set(divergence.group, divergence);
  }

  /** A group was opened: its replica may have been found by an earlier process. */
  opened(group: Group): void {
    const known = this.#known.get(group.id);
    if (known === undefined) return;
    if (known.replica === group.self) this.#leave(group, known);
    else this.#forget(group.id);
  }

  /** The replica differs from its group, according to its leader: `reason` names the difference and both values. */
  found(group: Group, leader: NodeId, reason: string): void {
    if (this.#known.get(group.id)?.replica === group.self) return;
    const divergence = { group: group.id, replica: group.self, leader, reason };
    this.#known.set(group.id, divergence);
    const batch = this.#ports.kv.batch();
    batch.put(divergedKey(group.id), writeDiverged(divergence));
    this.#write(batch);
    this.#found.push(group);
  }

  /** Takes the found replicas out of their groups. Called between steps. */
  settle(): void {
    if (this.#found.length === 0) return;
    const found = this.#found;
    this.#found = [];
    for (const group of found) {
      const known = this.#known.get(group.id);
      if (group.isOpen && known !== undefined) this.#leave(group, known);
    }
  }

  /** The replica is no longer on this node. */
  closed({ id }: Group): void {
    if (this.#known.has(id)) this.#forget(id);
  }

  /** Resolves when no finding is being written any more. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  #leave(group: Group, divergence: Divergence): void {
    this.#ports.step(group, { kind: 'diverge' });
    this.#ports.leadership.giveUpIn(group);
    this.#ports.reporter.noteHistory({ kind: 'diverged', ...divergence });
  }

  #forget(id: GroupId): void {
    this.#known.delete(id);
    const batch = this.#ports.kv.batch();
    batch.del(divergedKey(id));
    this.#write(batch);
  }

  #write(batch: ReturnType<KvStore['batch']>): void {
    const before = this.#writing;
    const writing = this.#ports.kv.write(batch);
    this.#writing = Promise.all([before, writing]).then(() => undefined);
    this.#ports.turns.keep(this.#writing);
  }
}

/** Describes the difference, with the value on each of the two nodes. */
export function differenceOf(
  what: string,
  here: { readonly node: NodeId; readonly value: string | number },
  there: { readonly node: NodeId; readonly value: string | number },
): string {
  return `${what} is ${here.value} on node ${here.node}, and ${there.value} on node ${there.node}, which leads the group`;
}

/**
 * Snapshots of the groups of this node, in both directions: the interface for the runtime.
 *
 * A member that lags too far for its leader's log gets the state instead: the records of a database after its position,
 * or the whole catalog (state-transfer.ts).
 */
import type { ReplicaId, Term } from '#base';
import type { Snapshot } from '#raft';
import type { Group } from '../group/group.ts';
import type { GroupPorts } from '../group/group-ports.ts';
import type { AppliedMark, DurableMark } from '../machine.ts';
import type { SnapshotLetter } from '../peer/snapshot-letter.ts';
import type { CheckedPart } from '../state-transfer.ts';
import { SnapshotReceiver, type SnapshotReceiverPorts } from './snapshot-receiver.ts';
import { SnapshotSender } from './snapshot-sender.ts';

export interface SnapshotsPorts extends SnapshotReceiverPorts, Pick<GroupPorts, 'syncStore'> {
  readonly feed: { begin(group: Group, mark: DurableMark, snapshot: Snapshot): void };
}

/** Number of checks of a deadline before it passes. */
const LOOKS = 4;

export class Snapshots {
  readonly #ports: SnapshotsPorts;
  readonly #sender: SnapshotSender;
  readonly #receiver: SnapshotReceiver;
  #syncing: Promise<void> = Promise.resolve();
  #lookedMs = 0;

  constructor(ports: SnapshotsPorts) {
    this.#ports = ports;
    this.#sender = new SnapshotSender(ports);
    this.#receiver = new SnapshotReceiver(ports);
  }

  /** Next time to call `tick`; undefined when no transfer is in progress. */
  get deadlineMs(): number | undefined {
    if (this.#sender.isIdle && this.#receiver.isIdle) return undefined;
    return this.#lookedMs + this.#ports.limits.snapshotAskMs / LOOKS;
  }

  /** Carries out a `send-snapshot` effect. */
  send(group: Group, to: ReplicaId, term: Term): void {
    this.#sender.send(group, to, term);
    this.#ports.turns.again();
  }

  /** Carries out an `install-snapshot` effect. */
  install(group: Group): void {
    this.#receiver.onInstall(group);
  }

  /** A part is in the machine. */
  installed(group: Group, part: CheckedPart): void {
    this.#receiver.installed(group, part);
  }

  /** The store has the state up to the mark. At the end of the snapshot it is made durable, then the log restarts. */
  written(group: Group, mark: AppliedMark): void {
    if (group.raft.installing?.last.index === mark.index) {
      this.#syncing = this.#sync(group, { ...mark, history: this.#ports.kv.historyEnd(group.id) });
      this.#ports.turns.keep(this.#syncing);
    }
  }

  receive(letter: SnapshotLetter): void {
    const { content } = letter;
    if (content.kind === 'ask') this.#sender.take({ ...letter, content });
    else this.#receiver.take(letter);
    if (content.kind === 'end') this.#sender.take({ ...letter, content });
  }

  /** Called at the end of each turn. */
  advance(): void {
    this.#receiver.advance();
    this.#sender.advance();
  }

  tick(nowMs: number): void {
    this.#lookedMs = nowMs;
    this.#sender.tick(nowMs);
    this.#receiver.tick(nowMs);
  }

  /** Starts nothing more; a running installation continues. */
  close(): void {
    this.#receiver.close();
    this.#sender.close();
  }

  /** Resolves when nothing that was closed uses the store any more. */
  async settled(): Promise<void> {
    await this.#sender.settled();
    await this.#syncing;
  }

  async #sync(group: Group, mark: DurableMark): Promise<void> {
    const before = this.#syncing;
    await this.#ports.syncStore();
    this.#ports.turns.run(() => this.#beginLog(group, mark));
    await before;
  }

  #beginLog(group: Group, mark: DurableMark): void {
    const { installing } = group.raft;
    if (!group.isOpen || installing === undefined) return;
    group.beginLog(mark.index);
    this.#ports.feed.begin(group, mark, installing);
  }
}

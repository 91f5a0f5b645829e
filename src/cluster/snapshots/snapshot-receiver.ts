/**
 * Receives snapshots for replicas of this node, and installs them into state and log.
 *
 *   offer ──> ask ──> parts, checked on arrival ──> install: the state, then the log (C15) ──> acknowledged
 *              ^                 |                        |
 *              +--- a new round, when something was lost  +--- credit for as many more bytes
 *
 * Each part ends at an index of the log. So the parts that have arrived become a snapshot of their own whenever the
 * group has nothing else to do: small, complete, and never lost again. After a crash or with another leader, the
 * transfer continues where the last one was installed.
 *
 * On an almost full disk only the state of the catalog is installed, because a node with a full disk cannot be a member
 * at all. The leader offers the snapshot again until there is space.
 *
 *   C15  A snapshot reaches the store in batches, each of which is a state that the log would have reached, and with an
 *        applied row for it. When all of it is durable there, the log restarts after it; then it is acknowledged.
 *        Until then the log is unchanged, and a start in between continues from it if it agrees.
 */
import { CATALOG_GROUP, NO_BYTES, nodeOf, type ReplicaId, type Term } from '#base';
import type { Snapshot } from '#raft';
import type { DiskLevel } from '#storage';
import type { PartToInstall } from '../group/backlog.ts';
import type { Group } from '../group/group.ts';
import type { SnapshotContent, SnapshotLetter, SnapshotOffer, SnapshotPart } from '../peer/snapshot-letter.ts';
import type { CheckedPart, StateImport } from '../state-transfer.ts';
import type { SnapshotPorts } from './snapshot-sender.ts';

export interface SnapshotReceiverPorts extends SnapshotPorts {
  readonly apply: { onInstall(group: Group, parts: readonly PartToInstall[]): void };
  readonly disk: () => DiskLevel;
}

interface Incoming {
  readonly group: Group;
  readonly from: ReplicaId;
  readonly term: Term;
  readonly transfer: number;
  readonly startedMs: number;
  state: StateImport | undefined;
  round: Round;
  bytes: number;
  /** Checked parts that are not installed yet. */
  parts: PartToInstall[];
  /** Bytes of these, and of parts being installed. */
  heldBytes: number;
  readonly installing: Set<CheckedPart>;
  hasLast: boolean;
  heardMs: number;
  askedMs: number;
}

/** The parts since the last loss. */
interface Round {
  readonly number: number;
  /** Position at its start. */
  readonly standing: Uint8Array;
  /** Number of the next part. */
  seq: number;
  receivedBytes: number;
  credit: number;
}

/** Round 0 is before the first. */
function roundOf(number: number, standing: Uint8Array): Round {
  return { number, standing, seq: 0, receivedBytes: 0, credit: 0 };
}

/** Memory of the groups of a node for each byte that a transfer may hold. */
const MEMORY_PER_TRANSFER = 8;

export class SnapshotReceiver {
  readonly #ports: SnapshotReceiverPorts;
  readonly #heldBytesMax: number;
  readonly #windowBytes: number;
  readonly #incoming = new Map<Group, Incoming>();
  /** Parts of the snapshot that is being stepped. */
  #offered: readonly PartToInstall[] = [];
  #isClosed = false;

  constructor(ports: SnapshotReceiverPorts) {
    this.#ports = ports;
    const { snapshotHeldBytesMax, snapshotWindowBytes, memoryBytesMax } = ports.limits;
    this.#heldBytesMax = Math.min(snapshotHeldBytesMax, memoryBytesMax / MEMORY_PER_TRANSFER);
    this.#windowBytes = Math.min(snapshotWindowBytes, this.#heldBytesMax);
  }

  get isIdle(): boolean {
    return this.#incoming.size === 0;
  }

  /** Handles a message of a group's leader. */
  take(letter: SnapshotLetter): void {
    const group = this.#ports.touch(letter.group);
    if (group === undefined || group.self !== letter.to || group.isDiverged || this.#isClosed) return;
    const { content, transfer, from } = letter;
    const known = this.#incoming.get(group);
    const isKnown = known?.transfer === transfer && known.from === from;
    if (content.kind === 'offer') {
      if (isKnown) this.#ask(known);
      else this.#begin(group, { ...letter, content });
    } else if (isKnown && content.kind === 'part') this.#takePart(known, content);
    else if (isKnown && content.kind === 'end')
      this.#drop(known, content.reason === 'over' ? undefined : 'the leader has stopped the transfer');
  }

  /** Carries out an `install-snapshot` effect. */
  onInstall(group: Group): void {
    const parts = this.#offered;
    this.#offered = [];
    const incoming = this.#incoming.get(group);
    for (const { part } of parts) incoming?.installing.add(part);
    this.#ports.apply.onInstall(group, parts);
  }

  /** A part is in the machine, and its memory free. */
  installed(group: Group, part: CheckedPart): void {
    const incoming = this.#incoming.get(group);
    if (incoming?.installing.delete(part) === true) incoming.heldBytes -= part.bytes;
  }

  /** Continues transfers that can continue; called at the end of each turn. */
  advance(): void {
    if (this.isIdle || this.#isClosed) return;
    for (const each of this.#incoming.values()) {
      if (!each.group.isOpen) this.#drop(each, 'the database is gone');
      else this.#advance(each);
    }
  }

  /** Repeats requests for parts that may be lost, and gives up on a leader that does not answer. */
  tick(nowMs: number): void {
    const { snapshotAskMs, snapshotGiveUpMs } = this.#ports.limits;
    for (const each of this.#incoming.values()) {
      const silentMs = nowMs - each.heardMs;
      if (this.#isTooFull(each.group)) this.#putOff(each);
      else if (silentMs >= snapshotGiveUpMs) this.#drop(each, `the leader has not answered for ${snapshotGiveUpMs} ms`);
      else if (!each.hasLast && silentMs >= snapshotAskMs && nowMs - each.askedMs >= snapshotAskMs) this.#resume(each);
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  #begin(group: Group, { from, transfer, content }: SnapshotLetter<SnapshotOffer>): void {
    const { limits, monotonicMs, snapshotObserver: observer } = this.#ports;
    const nowMs = monotonicMs();
    const before = this.#incoming.get(group);
    if (before !== undefined) this.#drop(before, 'another transfer takes its place');
    const nothing = { parts: [], installing: new Set<CheckedPart>(), bytes: 0, heldBytes: 0, hasLast: false };
    const times = { startedMs: nowMs, heardMs: nowMs, askedMs: nowMs };
    const sender = { group, from, transfer, term: content.term };
    const incoming: Incoming = { ...sender, state: undefined, round: roundOf(0, NO_BYTES), ...nothing, ...times };
    if (content.term < group.raft.hardState.term) return this.#post(incoming, { kind: 'end', reason: 'refused' });
    if (this.#incoming.size >= limits.snapshotsMax || this.#isTooFull(group)) {
      return this.#post(incoming, { kind: 'end', reason: 'busy' });
    }
    this.#incoming.set(group, incoming);
    observer.snapshotBegan({ way: 'received', group: group.id, node: nodeOf(from) });
  }

  /** Starts a new round after the state that is here already. */
  #resume(each: Incoming): void {
    const { kv, machines } = this.#ports;
    // Parts of an earlier snapshot must be installed first, because they change the state.
    if (each.state === undefined && !each.group.isQuiescent) return;
    each.state ??= machines.importState(kv, each.group.id, each.group.machine);
    each.round = roundOf(each.round.number + 1, each.state.resume());
    this.#ask(each);
  }

  #ask(each: Incoming): void {
    if (each.state === undefined) return;
    each.askedMs = this.#ports.monotonicMs();
    const { round } = each;
    round.credit = round.receivedBytes + this.#room(each);
    this.#post(each, { kind: 'ask', round: round.number, credit: round.credit, standing: round.standing });
  }

  #takePart(each: Incoming, { round: number, seq, data, last, isLast, members }: SnapshotPart): void {
    const { round } = each;
    if (number !== round.number || seq < round.seq || each.hasLast) return;
    if (seq > round.seq) return this.#resume(each);
    const { length } = data;
    each.heardMs = this.#ports.monotonicMs();
    round.seq += 1;
    round.receivedBytes += length;
    each.bytes += length;
    each.hasLast = isLast;
    this.#ports.snapshotObserver.snapshotMoved('received', nodeOf(each.from), length);
    const part = each.state?.take({ data, last, isLast });
    if (typeof part === 'string') return this.#refuse(each, part);
    if (part === undefined) return;
    each.parts.push({ part, members });
    each.heldBytes += part.bytes;
  }

  #advance(each: Incoming): void {
    if (each.state === undefined) this.#resume(each);
    this.#install(each);
    if (!this.#incoming.has(each.group)) return;
    if (each.hasLast && each.parts.length === 0 && each.installing.size === 0 && !each.group.isInstalling) {
      this.#post(each, { kind: 'end', reason: 'done' });
      return this.#drop(each, undefined);
    }
    if (each.state === undefined || each.hasLast) return;
    const { receivedBytes, credit } = each.round;
    if (receivedBytes + this.#room(each) - credit >= this.#windowBytes / 4) this.#ask(each);
  }

  /** Bytes that may be in flight. */
  #room({ heldBytes }: Incoming): number {
    return Math.max(0, Math.min(this.#windowBytes, this.#heldBytesMax - heldBytes));
  }

  /** Makes a snapshot of the received parts, once the group has nothing else to do. */
  #install(each: Incoming): void {
    const { group, from, term } = each;
    if (each.parts.length === 0 || !group.isQuiescent) return;
    const { applied } = group.machine;
    while ((each.parts[0]?.part.last.index ?? Number.POSITIVE_INFINITY) <= applied.index)
      this.#forget(each, each.parts.splice(0, 1));
    const [first] = each.parts;
    const end = each.parts.at(-1);
    // The log may still be on its way to the start of the first part.
    if (first === undefined || end === undefined || applied.index < first.part.basis) return;
    const snapshot: Snapshot = { last: end.part.last, membership: end.members.membership };
    const parts = each.parts;
    each.parts = [];
    this.#offered = parts;
    each.heardMs = this.#ports.monotonicMs();
    this.#ports.step(group, { kind: 'receive', from, message: { kind: 'install-snapshot', term, snapshot } });
    if (this.#offered.length === 0) return;
    // The log has it already, or another leader has sent more.
    this.#offered = [];
    this.#forget(each, parts);
    if (group.raft.hardState.term > term) this.#drop(each, 'another leader has said more');
  }

  #forget(each: Incoming, parts: readonly PartToInstall[]): void {
    for (const { part } of parts) each.heldBytes -= part.bytes;
  }

  /** Without the catalog nothing could be deleted here. */
  #isTooFull({ id }: Group): boolean {
    return id !== CATALOG_GROUP && this.#ports.disk() === 'read-only';
  }

  #putOff(each: Incoming): void {
    this.#post(each, { kind: 'end', reason: 'busy' });
    this.#drop(each, 'the disk is too full');
  }

  #refuse(each: Incoming, fault: string): void {
    this.#post(each, { kind: 'end', reason: 'refused' });
    this.#drop(each, fault);
  }

  #drop(each: Incoming, fault: string | undefined): void {
    this.#incoming.delete(each.group);
    const { group, from, bytes, startedMs } = each;
    const elapsedMs = this.#ports.monotonicMs() - startedMs;
    const node = nodeOf(from);
    this.#ports.snapshotObserver.snapshotEnded({ way: 'received', group: group.id, node, fault, bytes, elapsedMs });
  }

  #post({ group, from, transfer }: Incoming, content: SnapshotContent): void {
    // A message that is not accepted is lost, and repeated later.
    this.#ports.peers.sendLetter(nodeOf(from), { group: group.id, from: group.self, to: from, transfer, content });
  }
}

/**
 * Sends snapshots to members of groups that lack entries which the leader's log no longer has.
 *
 *   waiting ──> offered ── asked ──> sending ── done, over, failed ──>
 *      ^           |  |                 |  a new round: from where the member stands by then
 *      +-- busy ---+  +---- no answer --+
 *
 * A node that is busy is not asked again at once, for any of its members: offers to it wait as if they had not been
 * sent, and this is no failure. Nodes take turns.
 *
 *   C16  A node sends few snapshots at a time, one part of each per turn, and no part that the member has
 *        not requested: the member bounds the data in flight, and only the next parts are in memory here.
 */
import { Fifo, type NodeId, nodeOf, type ReplicaId, type Term } from '#base';
import { isHistoryDamage } from '#kv';
import type { Group } from '../group/group.ts';
import type { GroupPorts } from '../group/group-ports.ts';
import type { EndReason, SnapshotAsk, SnapshotContent, SnapshotEnd, SnapshotLetter } from '../peer/snapshot-letter.ts';
import type { SnapshotObserver } from '../peer/snapshot-observer.ts';
import type { StateExport, StatePart } from '../state-transfer.ts';

export interface SnapshotPorts extends GroupPorts {
  readonly snapshotObserver: SnapshotObserver;
  readonly turns: { again(): void; keep(work: Promise<void>): void; run(work: () => void): void };
}

/** Length of the number of a transfer. */
const TRANSFER_BYTES = 6;

interface Outgoing {
  readonly group: Group;
  readonly to: ReplicaId;
  readonly term: Term;
  readonly transfer: number;
  readonly startedMs: number;
  /** Undefined until the member asks. */
  round: Round | undefined;
  /** Bytes of all rounds. */
  bytes: number;
  /** Reason why nothing can be sent. */
  fault: string | undefined;
  heardMs: number;
  offeredMs: number;
}

/** The parts after a position of the member; after a loss it begins another round. */
interface Round {
  readonly number: number;
  credit: number;
  seq: number;
  sentBytes: number;
  /** True while it reads from the store. */
  isReading: boolean;
  state: StateExport | undefined;
  /** A part that was read, and that the link has not accepted yet. */
  held: StatePart | undefined;
  /** The last part that was sent. */
  sent: StatePart | undefined;
}

/** Transfers that wait for one node, and the time until which it is busy. */
interface Line {
  readonly waiting: Fifo<Outgoing>;
  busyUntilMs: number;
}

/** Time until a busy node is asked again, as a share of the interval at which an offer is repeated. */
const BUSY_PER_ASK = 1 / 4;

export class SnapshotSender {
  readonly #ports: SnapshotPorts;
  /** Nodes with waiting transfers, in round-robin order. */
  readonly #lines = new Map<NodeId, Line>();
  #waitingCount = 0;
  #running: readonly Outgoing[] = [];
  #reading: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(ports: SnapshotPorts) {
    this.#ports = ports;
  }

  get isIdle(): boolean {
    return this.#behindCount === 0;
  }

  /** Members that need a snapshot. */
  get #behindCount(): number {
    return this.#running.length + this.#waitingCount;
  }

  /** Carries out a `send-snapshot` effect. Its answer is stepped when the transfer ends. */
  send(group: Group, to: ReplicaId, term: Term): void {
    if (this.#isClosed) return;
    const nowMs = this.#ports.monotonicMs();
    const transfer = this.#ports.random.bytes(TRANSFER_BYTES).reduce((value, byte) => value * 256 + byte, 0);
    const times = { startedMs: nowMs, heardMs: nowMs, offeredMs: nowMs };
    this.#wait({ group, to, term, transfer, round: undefined, bytes: 0, fault: undefined, ...times });
    this.#ports.snapshotObserver.membersBehind(this.#behindCount);
  }

  /** Continues transfers that can continue; called at the end of each turn. */
  advance(): void {
    if (this.isIdle || this.#isClosed) return;
    for (const each of this.#running) if (!isWanted(each)) this.#end(each, 'over', undefined);
    while (this.#running.length < this.#ports.limits.snapshotsMax) {
      const next = this.#next();
      if (next === undefined) break;
      this.#start(next);
    }
    for (const each of this.#running) this.#pump(each);
  }

  /** Repeats messages that may be lost, and gives up on members that do not answer. */
  tick(nowMs: number): void {
    const { snapshotAskMs, snapshotGiveUpMs } = this.#ports.limits;
    for (const each of this.#running) {
      if (nowMs - each.heardMs >= snapshotGiveUpMs) this.#fail(each, `it has not answered for ${snapshotGiveUpMs} ms`);
      else if (each.round === undefined && nowMs - each.offeredMs >= snapshotAskMs) this.#offer(each, nowMs);
    }
  }

  /** Handles a message of the member. */
  take(letter: SnapshotLetter<SnapshotAsk | SnapshotEnd>): void {
    const { content, transfer, group } = letter;
    const found = this.#running.find((each) => each.transfer === transfer && each.group.id === group);
    if (found === undefined || found.to !== letter.from || !isWanted(found)) return;
    found.heardMs = this.#ports.monotonicMs();
    if (content.kind === 'end') return this.#takeEnd(found, content.reason);
    const { round } = found;
    if (round === undefined || content.round > round.number) this.#begin(found, content);
    else if (content.round === round.number) round.credit = Math.max(round.credit, content.credit);
  }

  /** Stops sending. */
  close(): void {
    this.#isClosed = true;
  }

  /** Resolves when nothing is being read; after `close` nothing more will be. */
  async settled(): Promise<void> {
    await this.#reading;
  }

  #wait(each: Outgoing): void {
    const node = nodeOf(each.to);
    const line = this.#lines.get(node) ?? { waiting: new Fifo(), busyUntilMs: Number.NEGATIVE_INFINITY };
    line.waiting.push(each);
    this.#lines.set(node, line);
    this.#waitingCount += 1;
  }

  /** The next transfer among those that are still needed; undefined when none waits, or no node is ready. */
  #next(): Outgoing | undefined {
    const nowMs = this.#ports.monotonicMs();
    for (const [node, line] of this.#lines) {
      if (nowMs < line.busyUntilMs) continue;
      const next = this.#firstWanted(line.waiting);
      this.#lines.delete(node);
      if (line.waiting.length > 0) this.#lines.set(node, line);
      if (next !== undefined) return next;
    }
    return undefined;
  }

  #firstWanted(waiting: Fifo<Outgoing>): Outgoing | undefined {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      this.#waitingCount -= 1;
      if (isWanted(next)) return next;
    }
    return undefined;
  }

  #start(each: Outgoing): void {
    this.#running = [...this.#running, each];
    const nowMs = this.#ports.monotonicMs();
    each.heardMs = nowMs;
    this.#offer(each, nowMs);
  }

  #offer(each: Outgoing, nowMs: number): void {
    each.offeredMs = nowMs;
    this.#post(each, { kind: 'offer', term: each.term });
  }

  /** The member starts a new round: parts that were read before are dropped. */
  #begin(each: Outgoing, { round: number, credit, standing }: SnapshotAsk): void {
    const { group, to } = each;
    if (each.round === undefined)
      this.#ports.snapshotObserver.snapshotBegan({ way: 'sent', group: group.id, node: nodeOf(to) });
    const nothing = { state: undefined, held: undefined, sent: undefined };
    const round: Round = { number, credit, seq: 0, sentBytes: 0, isReading: false, ...nothing };
    each.round = round;
    this.#read(each, round, async () => {
      const { kv, machines } = this.#ports;
      const state = await machines.exportState(kv, group.id, standing);
      if (typeof state !== 'string') round.state = state;
      else if (each.round === round) each.fault = state;
    });
  }

  #pump(each: Outgoing): void {
    const { fault, round } = each;
    if (fault !== undefined) return this.#fail(each, fault);
    if (round?.state === undefined || round.isReading || round.sent?.isLast === true) return;
    const { state, held } = round;
    if (held !== undefined && !this.#sendPart(each, round, { ...held, members: state.members })) return;
    if (held?.isLast === true || round.sentBytes >= round.credit) return;
    this.#read(each, round, async () => {
      round.held = await state.next(this.#ports.limits.snapshotPartBytes);
    });
  }

  /** A part that the link does not accept waits for the next turn. */
  #sendPart(each: Outgoing, round: Round, part: StatePart & Pick<StateExport, 'members'>): boolean {
    if (!this.#post(each, { kind: 'part', round: round.number, seq: round.seq, ...part })) return false;
    const { length } = part.data;
    round.held = undefined;
    round.seq += 1;
    round.sentBytes += length;
    round.sent = part;
    each.bytes += length;
    this.#ports.snapshotObserver.snapshotMoved('sent', nodeOf(each.to), length);
    return true;
  }

  #takeEnd(each: Outgoing, reason: EndReason): void {
    if (reason === 'busy') return this.#putOff(each);
    if (reason !== 'done') return this.#fail(each, 'it refused the snapshot');
    this.#end(each, 'done', undefined);
    this.#ports.step(each.group, { kind: 'snapshot-sent', replica: each.to, index: each.round?.sent?.last.index });
  }

  /** Its node is busy. */
  #putOff(each: Outgoing): void {
    const { monotonicMs, limits } = this.#ports;
    this.#running = this.#running.filter((other) => other !== each);
    this.send(each.group, each.to, each.term);
    const line = this.#lines.get(nodeOf(each.to));
    if (line !== undefined) line.busyUntilMs = monotonicMs() + limits.snapshotAskMs * BUSY_PER_ASK;
  }

  #fail(each: Outgoing, fault: string): void {
    const { group, to } = each;
    this.#end(each, 'refused', fault);
    if (group.isOpen) this.#ports.step(group, { kind: 'snapshot-sent', replica: to, index: undefined });
  }

  #end(each: Outgoing, reason: EndReason, fault: string | undefined): void {
    this.#running = this.#running.filter((other) => other !== each);
    if (reason !== 'done') this.#post(each, { kind: 'end', reason });
    const { snapshotObserver: observer, monotonicMs } = this.#ports;
    const { group, to, bytes, startedMs } = each;
    const elapsedMs = monotonicMs() - startedMs;
    observer.snapshotEnded({ way: 'sent', group: group.id, node: nodeOf(to), fault, bytes, elapsedMs });
    observer.membersBehind(this.#behindCount);
  }

  #post({ group, to, transfer }: Outgoing, content: SnapshotContent): boolean {
    const letter = { group: group.id, from: group.self, to, transfer, content };
    return this.#ports.peers.sendLetter(nodeOf(to), letter);
  }

  /** Another node with a replica may have the bytes that are damaged here. */
  #unread(each: Outgoing, failure: unknown): void {
    if (!isHistoryDamage(failure)) throw failure;
    each.fault = failure.message;
  }

  /** Reads from the store in the background; the next turn continues with the result. */
  #read(each: Outgoing, round: Round, work: () => Promise<void>): void {
    round.isReading = true;
    const reading = async (): Promise<void> => {
      if (!this.#isClosed && each.group.isOpen) await work().catch((failure: unknown) => this.#unread(each, failure));
      round.isReading = false;
      this.#ports.turns.again();
    };
    const before = this.#reading;
    this.#reading = Promise.all([before, reading()]).then(() => undefined);
    this.#ports.turns.keep(this.#reading);
  }
}

/** Returns whether the group still leads in that term, and the member lacks entries that its log no longer has. */
function isWanted({ group, to, term }: Outgoing): boolean {
  const { role, hardState } = group.raft;
  if (!group.isOpen || role.kind !== 'leader' || hardState.term !== term) return false;
  return role.peers.get(to)?.progress.kind === 'snapshot';
}

/**
 * One lane to one node: a connection that is dialled repeatedly until it is closed.
 *
 * ```
 *   connecting ── the intended node answers ─> open ── broken, or ended by the other side ──> pausing ──> connecting
 *       └──────── refused, or not answered ─────────────────────────────────────────────────> pausing
 * ```
 * lane-words.ts defines the messages. Frames of one turn are written together, 256 KiB at a time; others wait here.
 * Their bytes are counted until the system has accepted them, or the connection is lost (TP2).
 */
import { type Address, concatBytes, Fifo, NO_BYTES } from '#base';
import type { FrameFault, FrameHeader, Lane } from '#cluster';
import { ASK, answerLength, ECHO_BYTE, type LaneAnswer, readAnswer, recordHead, writeHello } from './lane-words.ts';
import type { PeerLimits } from './limits.ts';
import type { HeardRun, Run } from './runs.ts';
import type { LaneWorld, Wire } from './wire.ts';

export interface LaneListeners {
  opened(): void;
  /** An open lane was lost. */
  lost(reason: string): void;
  /** The other side is another node, or refuses this one. */
  refused(reason: string): void;
  /** The other side has accepted another process of this node. */
  duplicate(reason: string): void;
  sent(bytes: number): void;
  /** An accepted frame was lost. */
  dropped(): void;
  /** Round-trip time in milliseconds. */
  answered(elapsedMs: number): void;
}

export interface LaneLinkOptions {
  /** Address of the other node. */
  readonly target: Address;
  readonly lane: Lane;
  /** Address of this node, if others can dial it. */
  readonly address: Address | undefined;
  /** From this node to the other. */
  readonly header: FrameHeader;
  readonly run: number;
  /** Fault of the answering process beside another one of its node. */
  readonly faultInRun: (process: Run) => FrameFault | undefined;
  readonly limits: PeerLimits;
  readonly world: LaneWorld;
  /** Random number from 0 up to 1, for the pauses. */
  readonly draw: () => number;
  readonly listeners: LaneListeners;
}

/** One connection, and its frames in flight. */
interface Attempt {
  readonly wire: Wire;
  isOpen: boolean;
  /** Run of the answering process, and the time of its answer. */
  run: number;
  sinceMs: number;
  /** Bytes of the answer, until it is complete. */
  said: Uint8Array;
  heardMs: number;
  /** Time of the last question. */
  askedMs: number;
  /** True if earlier output preceded that question; and the time of the system's last progress on output. */
  wasFull: boolean;
  movedMs: number;
  isCorked: boolean;
  /** Frames that were not passed to the connection yet. */
  readonly waiting: Fifo<Uint8Array>;
  handedBytes: number;
  /** Accepted bytes that were not sent. */
  waitingBytes: number;
  waitingFrames: number;
  /** Each cancels a timer. */
  stopAsking: () => void;
  deadline: (() => void) | undefined;
}

/** Bytes passed to a connection at a time, so that slow progress is visible. */
const HANDED_BYTES_MAX = 2 ** 18;

export class LaneLink {
  readonly #options: LaneLinkOptions;
  #attempt: Attempt | undefined;
  /** Ends the pause before the next attempt. */
  #stopPause: (() => void) | undefined;
  /** Attempts in a row that were not answered. */
  #failures = 0;
  #isClosed = false;

  /** Throws for an invalid address. */
  constructor(options: LaneLinkOptions) {
    if (options.target.host === '') throw new Error('there is no host');
    this.#options = options;
    this.#connect();
  }

  get isOpen(): boolean {
    return this.#attempt?.isOpen === true;
  }

  /** The process at the other end of the open connection. */
  get heard(): HeardRun | undefined {
    const attempt = this.#attempt;
    if (attempt?.isOpen !== true || attempt.wire.destroyed) return undefined;
    const { header, target: address } = this.#options;
    const destroy = (): void => void attempt.wire.destroy(new Error('another process of the node has begun'));
    const { run, sinceMs } = attempt;
    return { place: header.to, run, address, isDialled: true, sinceMs, heardMs: () => attempt.heardMs, destroy };
  }

  /** The other node is up: ends a pause. */
  hurry(): void {
    if (this.#stopPause === undefined || this.#isClosed) return;
    this.#stopPause();
    this.#connect();
  }

  /** Accepts the frame, or returns false. */
  send(frame: Uint8Array): boolean {
    const { limits, lane } = this.#options;
    const attempt = this.#attempt;
    if (this.#isClosed || attempt?.isOpen !== true) return false;
    if (attempt.waitingBytes + frame.length > limits.laneBytesMax[lane]) return false;
    attempt.waitingBytes += frame.length;
    attempt.waitingFrames += 1;
    attempt.waiting.push(frame);
    this.#hand(attempt);
    return true;
  }

  /** Accepts no more frames; resolves when the other side has received the accepted ones, or after a timeout. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopPause?.();
    const attempt = this.#attempt;
    if (attempt?.isOpen === true) await this.#flushed(attempt);
    if (this.#attempt !== undefined) this.#end(this.#attempt);
  }

  /** Ends the connection, and waits until the other side ends it, after it has read everything. */
  #flushed({ wire, waiting }: Attempt): Promise<void> {
    const { limits, world } = this.#options;
    return new Promise((resolve) => {
      const stop = world.after(limits.flushMs, resolve);
      wire.on('close', () => {
        stop();
        resolve();
      });
      for (const frame of waiting.drain()) writeRecord(wire, frame);
      wire.end();
    });
  }

  /** Writes frames to the connection; those of one turn in one piece. */
  #hand(attempt: Attempt): void {
    const { wire } = attempt;
    while (attempt.waiting.length > 0 && attempt.handedBytes < HANDED_BYTES_MAX) {
      const frame = attempt.waiting.shift() ?? NO_BYTES;
      if (!attempt.isCorked) {
        attempt.isCorked = true;
        wire.cork();
        process.nextTick(() => {
          attempt.isCorked = false;
          wire.uncork();
        });
      }
      attempt.handedBytes += frame.length;
      writeRecord(wire, frame, (failure) => this.#left(attempt, frame, failure));
    }
  }

  /** The system has accepted a frame, or never will. */
  #left(attempt: Attempt, { length }: Uint8Array, failure: Error | null | undefined): void {
    // A broken connection also calls this for its queued messages, which are counted as dropped already.
    if (attempt !== this.#attempt) return;
    attempt.handedBytes -= length;
    attempt.waitingBytes -= length;
    attempt.waitingFrames -= 1;
    attempt.movedMs = this.#options.world.nowMs();
    const { listeners } = this.#options;
    if (failure === null || failure === undefined) listeners.sent(length);
    else listeners.dropped();
    if (!this.#isClosed) this.#hand(attempt);
  }

  #connect(): void {
    this.#stopPause = undefined;
    const { target, limits, world } = this.#options;
    const wire = world.connect(target);
    const attempt: Attempt = {
      wire,
      isOpen: false,
      run: 0,
      sinceMs: 0,
      said: NO_BYTES,
      heardMs: 0,
      askedMs: 0,
      wasFull: false,
      movedMs: 0,
      isCorked: false,
      waiting: new Fifo(),
      handedBytes: 0,
      waitingBytes: 0,
      waitingFrames: 0,
      stopAsking: () => undefined,
      deadline: world.after(limits.silentMs, () =>
        wire.destroy(new Error(`nothing was received within ${limits.silentMs} ms`)),
      ),
    };
    this.#attempt = attempt;
    let reason = 'it closed the connection';
    let refusal: string | undefined;
    wire.on('error', (error) => {
      reason = error.message;
      refusal = world.refusalIn?.(error, target);
    });
    wire.on('close', () => {
      if (refusal === undefined || attempt !== this.#attempt || attempt.isOpen) this.#fail(attempt, reason);
      else this.#refused(attempt, refusal);
    });
    wire.on('data', (chunk) => this.#hear(attempt, chunk));
    wire.write(writeHello(this.#options));
  }

  #hear(attempt: Attempt, chunk: Uint8Array): void {
    if (attempt !== this.#attempt) return;
    attempt.heardMs = this.#options.world.nowMs();
    if (attempt.isOpen) return this.#takeWords(attempt, chunk);
    attempt.said = concatBytes([attempt.said, chunk]);
    const length = answerLength(attempt.said);
    if (length === undefined || attempt.said.length < length) return;
    const answer = readAnswer(attempt.said.subarray(0, length));
    if (answer.kind !== 'accepted') {
      const { kind, reason } = answer;
      return kind === 'duplicate' ? this.#refusedAsDuplicate(attempt, reason) : this.#refused(attempt, reason);
    }
    const fault = this.#faultIn(answer);
    if (fault !== undefined) return this.#refused(attempt, fault);
    this.#failures = 0;
    attempt.isOpen = true;
    attempt.run = answer.run;
    attempt.sinceMs = attempt.heardMs;
    attempt.said = NO_BYTES;
    attempt.deadline?.();
    attempt.deadline = undefined;
    const { world, limits, listeners } = this.#options;
    attempt.stopAsking = world.every(limits.pingEveryMs, () => this.#ask(attempt));
    listeners.opened();
  }

  #takeWords(attempt: Attempt, words: Uint8Array): void {
    attempt.deadline?.();
    attempt.deadline = undefined;
    if (!words.includes(ECHO_BYTE)) return;
    this.#options.listeners.answered(attempt.heardMs - attempt.askedMs);
  }

  /** Fault of the answering node when it is not the intended one. */
  #faultIn({ header: { clusterId, from }, run }: Extract<LaneAnswer, { kind: 'accepted' }>): string | undefined {
    const { header, faultInRun, target: address } = this.#options;
    const { to, clusterId: ours } = header;
    if (clusterId !== ours) return `it belongs to the cluster ${clusterId}`;
    if (from.node !== to.node || from.store !== to.store) return `it is node ${from.node}, store ${from.store}`;
    return faultInRun({ run, address, isDialled: true })?.words;
  }

  /** Sends a question to the other side, unless one is pending. */
  #ask(attempt: Attempt): void {
    if (attempt.deadline !== undefined) return;
    const { world, limits } = this.#options;
    attempt.askedMs = world.nowMs();
    attempt.wasFull = attempt.waitingFrames > 0;
    attempt.wire.write(ASK);
    attempt.deadline = world.after(limits.pingTimeoutMs, () => {
      attempt.deadline = undefined;
      // After this thread was blocked, arrived bytes are read before the timeout counts.
      world.afterArrivals(() => this.#judge(attempt));
    });
  }

  /** Gives up on a node that has sent nothing, and accepted none of the pending output, since the question. */
  #judge(attempt: Attempt): void {
    const { wire, askedMs, heardMs, wasFull, movedMs } = attempt;
    if (heardMs >= askedMs || (wasFull && movedMs >= askedMs)) return;
    wire.destroy(new Error(`it has not answered for ${this.#options.limits.pingTimeoutMs} ms`));
  }

  /** Retries slowly, because the reason is permanent. */
  #refused(attempt: Attempt, reason: string): void {
    this.#options.listeners.refused(reason);
    this.#again(attempt, this.#options.limits.backoffLastMs);
  }

  /** Retries soon: the connections of the previous process may close in a moment. */
  #refusedAsDuplicate(attempt: Attempt, reason: string): void {
    this.#options.listeners.duplicate(reason);
    this.#again(attempt, this.#backoffMs());
  }

  #backoffMs(): number {
    const { backoffFirstMs, backoffLastMs } = this.#options.limits;
    this.#failures += 1;
    return Math.min(backoffLastMs, backoffFirstMs * 2 ** (this.#failures - 1));
  }

  #fail(attempt: Attempt, reason: string): void {
    if (attempt !== this.#attempt) return;
    this.#again(attempt, this.#backoffMs());
    if (attempt.isOpen && !this.#isClosed) this.#options.listeners.lost(reason);
  }

  /** The attempt has ended; the next follows after half to all of the pause. */
  #again(attempt: Attempt, pauseMs: number): void {
    this.#end(attempt);
    if (this.#isClosed) return;
    const { world, draw } = this.#options;
    this.#stopPause = world.after((pauseMs * (1 + draw())) / 2, () => this.#connect());
  }

  #end(attempt: Attempt): void {
    this.#attempt = undefined;
    attempt.stopAsking();
    attempt.deadline?.();
    attempt.wire.destroy();
    for (let lost = attempt.waitingFrames; lost > 0; lost--) this.#options.listeners.dropped();
  }
}

function writeRecord(wire: Wire, frame: Uint8Array, done?: (failure?: Error | null) => void): void {
  wire.write(recordHead(frame.length));
  wire.write(frame, done);
}

// One direction of a simulated TCP connection: bytes in order, each once, in chunks of any size.
//
// ```
//   written ──> waiting ──> taken by the system ──> under way ──> arrived, not read
//               (done is called here) └──── SENT_BYTES_MAX ────┘  └ READ_BYTES_MAX ┘
// ```
// Lost data is sent again, and later data waits for it. A receiver that does not read closes the window, so that the
// sender has to keep its bytes. Machines do this regardless of their threads; a machine without power does nothing.
import { concatBytes } from '#base';
import type { Simulator } from '../engine/simulator.ts';
import type { PeerExchange } from './exchange.ts';
import { FEW_BYTES_MAX, withTurnedBit } from './lane-harm.ts';

/** State of a connection at one machine. */
export interface WayEnd {
  readonly host: string;
  /** True when the machine has lost power. */
  readonly isGone: boolean;
  /** True when the process accepts no more data, which is then answered with a reset. */
  readonly isDeaf: boolean;
  /** Called when bytes or the end can be read. */
  arrived(): void;
  /** Called when the other side does not know the connection, or the network has broken it. */
  reset(): void;
}

/** State that both directions of a connection share. */
export interface Fate {
  /** True when nothing passes any more. */
  isHole: boolean;
  /** True when a bit was flipped in the initial message of one end. */
  isFirstTurned: boolean;
}

export interface WayParts {
  readonly simulator: Simulator;
  readonly exchange: PeerExchange;
  readonly from: WayEnd;
  readonly to: WayEnd;
  readonly fate: Fate;
  /** Called when data follows a corrupted initial message. */
  readonly onMore?: () => void;
}

type Done = (failure?: Error | null) => void;

interface Written {
  bytes: Uint8Array;
  readonly done: Done | undefined;
}

/** Small enough that a node that does not read slows its senders down. */
const SENT_BYTES_MAX = 64 * 1024;
const READ_BYTES_MAX = 64 * 1024;
/** Share of chunks that are cut short: within a header, or within data that was written together. */
const SHORT_SHARE = 0.1;
const SHORT_BYTES_MAX = 100;
const AGAIN_FIRST_US = 200_000;
const AGAIN_LAST_US = 3_200_000;
/** Share of resets, where separately sent frames would be duplicated. */
const RESET_SHARE = 0.02;

export class WireWay {
  readonly #parts: WayParts;
  #waiting: Written[] = [];
  readonly #taken: Uint8Array[] = [];
  #takenBytes = 0;
  /** Sent bytes that are not acknowledged. */
  #sentBytes = 0;
  #underWayBytes = 0;
  readonly #arrived: Uint8Array[] = [];
  #arrivedBytes = 0;
  #lastUs = 0;
  #end: 'open' | 'asked' | 'sent' | 'arrived' = 'open';
  #isShut = false;
  #isBroken = false;
  #isTryingAgain = false;
  #isFirst = true;
  #againUs = AGAIN_FIRST_US;

  constructor(parts: WayParts) {
    this.#parts = parts;
  }

  /** Written bytes that the system has not taken. */
  get waitingBytes(): number {
    return this.#waiting.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  get arrivedBytes(): number {
    return this.#arrivedBytes;
  }

  /** True when everything was read and nothing more follows. */
  get isOver(): boolean {
    return this.#end === 'arrived' && this.#arrivedBytes === 0;
  }

  write(bytes: Uint8Array, done: Done | undefined): void {
    if (!this.#isFirst && this.#parts.fate.isFirstTurned) this.#parts.onMore?.();
    this.#waiting.push({ bytes: this.#harmed(bytes), done });
  }

  /** The system takes as much as it has room for, and sends it. */
  move(): void {
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      const part = first.bytes.subarray(0, SENT_BYTES_MAX - this.#takenBytes - this.#sentBytes);
      if (part.length === 0 && first.bytes.length > 0) break;
      this.#taken.push(part);
      this.#takenBytes += part.length;
      first.bytes = first.bytes.subarray(part.length);
      if (first.bytes.length > 0) break;
      this.#waiting.shift();
      const { done } = first;
      if (done !== undefined) queueMicrotask(() => done());
    }
    this.#send();
  }

  /** Marks the end of the data. */
  end(): void {
    if (this.#end === 'open') this.#end = 'asked';
    this.move();
  }

  /** Drops data that the system has not taken; the rest is sent, followed by the end. */
  abandon(): readonly Done[] {
    const lost = this.#waiting.flatMap(({ done }) => (done === undefined ? [] : [done]));
    this.#waiting = [];
    this.end();
    return lost;
  }

  /** Like `abandon`, but also drops data that the system has taken: the other side gets a reset. */
  breakOff(): readonly Done[] {
    this.#isBroken = true;
    this.#taken.length = 0;
    this.#takenBytes = 0;
    return this.abandon();
  }

  /** Stops all transmission. */
  shut(): void {
    this.#isShut = true;
  }

  /** Returns all data that has arrived. */
  read(): Uint8Array {
    const bytes = concatBytes(this.#arrived.splice(0));
    const wasFull = this.#arrivedBytes + this.#underWayBytes >= READ_BYTES_MAX;
    this.#arrivedBytes = 0;
    if (wasFull && this.#takenBytes > 0) this.#tell('window opens');
    return bytes;
  }

  #send(): void {
    const { simulator, exchange, from, to } = this.#parts;
    while (!this.#isShut && !from.isGone && !this.#isTryingAgain && !this.#parts.fate.isHole) {
      const room = READ_BYTES_MAX - this.#arrivedBytes - this.#underWayBytes;
      const size = Math.min(room, this.#takenBytes);
      const isEnd = this.#takenBytes === 0 && this.#waiting.length === 0 && this.#end === 'asked';
      if (size <= 0 && !isEnd) return;
      if (!exchange.isOpen(from.host, to.host)) return this.#tryAgain();
      const { random, conditions } = exchange;
      const lateUs = random.chance(conditions.lossShare) ? AGAIN_FIRST_US : 0;
      this.#lastUs = Math.max(this.#lastUs, exchange.arrivesUs(to.host, simulator.nowUs) + lateUs);
      if (isEnd) {
        this.#end = 'sent';
        return simulator.after(this.#lastUs - simulator.nowUs, 'end of lane', () => this.#arriveEnd());
      }
      const isShort = random.chance(SHORT_SHARE);
      const piece = this.#take(isShort ? Math.min(size, random.between(1, SHORT_BYTES_MAX)) : size);
      this.#sentBytes += piece.length;
      this.#underWayBytes += piece.length;
      simulator.after(this.#lastUs - simulator.nowUs, 'bytes of lane', () => this.#arrive(piece));
    }
  }

  #take(size: number): Uint8Array {
    const all = this.#taken.length === 1 ? (this.#taken[0] ?? new Uint8Array(0)) : concatBytes(this.#taken);
    this.#taken.length = 0;
    if (size < all.length) this.#taken.push(all.subarray(size));
    this.#takenBytes -= size;
    return all.slice(0, size);
  }

  #arrive(piece: Uint8Array): void {
    const { exchange, from, to, fate } = this.#parts;
    if (this.#isShut || fate.isHole) return;
    this.#underWayBytes -= piece.length;
    if (to.isGone) return this.#unheard(piece);
    if (to.isDeaf) return this.#reset();
    const { random, conditions, harm } = exchange;
    if (harm.holeShare > 0 && random.chance(harm.holeShare)) {
      fate.isHole = true;
      return;
    }
    if (random.chance(conditions.flipShare)) {
      const at = random.between(0, piece.length - 1);
      piece[at] = (piece[at] ?? 0) ^ (1 << random.between(0, 7));
    }
    this.#arrived.push(piece);
    this.#arrivedBytes += piece.length;
    this.#againUs = AGAIN_FIRST_US;
    if (this.#waiting.length > 0 || !exchange.isOpen(to.host, from.host)) {
      this.#tell('room', () => void (this.#sentBytes -= piece.length));
    } else this.#sentBytes -= piece.length;
    to.arrived();
    const resetShare = conditions.duplicateShare * RESET_SHARE + harm.resetShare;
    if (random.chance(resetShare)) {
      from.reset();
      to.reset();
    }
  }

  #arriveEnd(): void {
    const { to, fate } = this.#parts;
    if (this.#isShut || fate.isHole) return;
    if (to.isGone) {
      this.#end = 'asked';
      return this.#tryAgain();
    }
    if (this.#isBroken) return to.reset();
    this.#end = 'arrived';
    to.arrived();
  }

  /** The machine is off: its data is sent again until a machine is there that does not know the connection. */
  #unheard(piece: Uint8Array): void {
    this.#taken.unshift(piece);
    this.#takenBytes += piece.length;
    this.#sentBytes -= piece.length;
    const { exchange, from, to } = this.#parts;
    if (exchange.at(to.host) !== undefined && exchange.isOpen(from.host, to.host)) this.#reset();
    else this.#tryAgain();
  }

  #reset(): void {
    this.#tell('reset of lane', () => this.#parts.from.reset());
  }

  /** The data as it leaves the machine. Without such faults, no random number is drawn. */
  #harmed(bytes: Uint8Array): Uint8Array {
    const { random, harm } = this.#parts.exchange;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const share = isFirst ? harm.firstShare : bytes.length <= FEW_BYTES_MAX ? harm.fewShare : 0;
    if (bytes.length === 0 || share === 0 || !random.chance(share)) return bytes;
    if (isFirst) this.#parts.fate.isFirstTurned = true;
    return withTurnedBit(bytes, random);
  }

  /** Sends a notification from the receiver to the sender, repeated until it arrives. */
  #tell(label: string, then: () => void = () => undefined): void {
    const { simulator, exchange, from, to } = this.#parts;
    const isOpen = exchange.isOpen(to.host, from.host);
    simulator.after(isOpen ? exchange.latencyUs() : AGAIN_FIRST_US, label, () => {
      if (this.#isShut || from.isGone || this.#parts.fate.isHole) return;
      if (!isOpen) return this.#tell(label, then);
      then();
      this.move();
    });
  }

  #tryAgain(): void {
    this.#isTryingAgain = true;
    this.#parts.simulator.after(this.#againUs, 'lane again', () => {
      this.#isTryingAgain = false;
      this.#send();
    });
    this.#againUs = Math.min(AGAIN_LAST_US, 2 * this.#againUs);
  }
}

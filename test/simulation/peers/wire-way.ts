// One way of a simulated connection of TCP: bytes in order, each once, in pieces of any size.
//
// ```
//   written ──> waiting ──> taken by the system ──> under way ──> arrived, not read
//               (done is called here) └──── SENT_BYTES_MAX ────┘  └ READ_BYTES_MAX ┘
// ```
// What is lost is sent again, and what follows waits for it. Whoever does not read closes the window, and then whoever
// sends is not rid of its bytes. Machines do this by themselves, whatever their threads do; a machine without power
// does nothing.
import { concatBytes } from '#base';
import type { Simulator } from '../engine/simulator.ts';
import type { PeerExchange } from './exchange.ts';
import { FEW_BYTES_MAX, withTurnedBit } from './lane-harm.ts';

/** What either machine knows of the connection. */
export interface WayEnd {
  readonly host: string;
  /** The machine has lost its power since. */
  readonly isGone: boolean;
  /** Nobody there takes any more what comes: it is answered by a reset. */
  readonly isDeaf: boolean;
  /** Something can be read: bytes, or the end. */
  arrived(): void;
  /** The other side does not know the connection, or the network has broken it. */
  reset(): void;
}

/** What both ways of a connection share. */
export interface Fate {
  /** Nothing gets through any more. */
  isHole: boolean;
  /** A bit is another in what one of them has said first. */
  isFirstTurned: boolean;
}

export interface WayParts {
  readonly simulator: Simulator;
  readonly exchange: PeerExchange;
  readonly from: WayEnd;
  readonly to: WayEnd;
  readonly fate: Fate;
  /** Something more is said here although a first word was turned. */
  readonly onMore?: () => void;
}

type Done = (failure?: Error | null) => void;

interface Written {
  bytes: Uint8Array;
  readonly done: Done | undefined;
}

/** Small enough for a node that does not read to be felt by those that send. */
const SENT_BYTES_MAX = 64 * 1024;
const READ_BYTES_MAX = 64 * 1024;
/** Of the pieces that travel, those that are cut off short: in a head, or amid what was written together. */
const SHORT_SHARE = 0.1;
const SHORT_BYTES_MAX = 100;
const AGAIN_FIRST_US = 200_000;
const AGAIN_LAST_US = 3_200_000;
/** Of what would come twice if each frame travelled for itself. */
const RESET_SHARE = 0.02;

export class WireWay {
  readonly #parts: WayParts;
  #waiting: Written[] = [];
  readonly #taken: Uint8Array[] = [];
  #takenBytes = 0;
  /** Sent, and not known to have arrived. */
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

  /** Written, and not taken by the system. */
  get waitingBytes(): number {
    return this.#waiting.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  get arrivedBytes(): number {
    return this.#arrivedBytes;
  }

  /** Everything was read, and nothing more follows. */
  get isOver(): boolean {
    return this.#end === 'arrived' && this.#arrivedBytes === 0;
  }

  write(bytes: Uint8Array, done: Done | undefined): void {
    if (!this.#isFirst && this.#parts.fate.isFirstTurned) this.#parts.onMore?.();
    this.#waiting.push({ bytes: this.#harmed(bytes), done });
  }

  /** The system takes what it has room for, and sends. */
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

  /** Nothing more follows what was written. */
  end(): void {
    if (this.#end === 'open') this.#end = 'asked';
    this.move();
  }

  /** What the system has not taken is lost; the rest leaves, and then the end. */
  abandon(): readonly Done[] {
    const lost = this.#waiting.flatMap(({ done }) => (done === undefined ? [] : [done]));
    this.#waiting = [];
    this.end();
    return lost;
  }

  /** As `abandon`, and what the system has taken is lost, too: the other side hears of a reset. */
  breakOff(): readonly Done[] {
    this.#isBroken = true;
    this.#taken.length = 0;
    this.#takenBytes = 0;
    return this.abandon();
  }

  /** Nothing moves any more. */
  shut(): void {
    this.#isShut = true;
  }

  /** All that has arrived. */
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

  /** The machine is off: what was sent to it is sent again, until one is there that does not know it. */
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

  /** As it leaves the machine. Where there is no such harm nothing is drawn. */
  #harmed(bytes: Uint8Array): Uint8Array {
    const { random, harm } = this.#parts.exchange;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    const share = isFirst ? harm.firstShare : bytes.length <= FEW_BYTES_MAX ? harm.fewShare : 0;
    if (bytes.length === 0 || share === 0 || !random.chance(share)) return bytes;
    if (isFirst) this.#parts.fate.isFirstTurned = true;
    return withTurnedBit(bytes, random);
  }

  /** Word from whoever receives to whoever sends; repeated until it gets through. */
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

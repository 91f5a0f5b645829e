/**
 * The dialled side of a lane: reads a hello, answers it, and passes on the frames that follow.
 *
 * Nothing is read while a frame is being processed, so a ping then gets no answer. So this side announces unasked that
 * it is alive, twice in each timeout for an answer, because both sides count from the start of the connection.
 */
import { concatBytes } from '#base';
import { FRAME_BYTES_MAX } from '#cluster';
import { ECHO, HERE, type Hello, helloLength, type LaneAnswer, readHello, writeAnswer } from './lane-words.ts';
import type { PeerLimits } from './limits.ts';
import { RecordReader } from './record-reader.ts';
import type { HeardRun } from './runs.ts';
import type { LaneWorld, Wire } from './wire.ts';

export interface LaneServerOptions {
  readonly limits: PeerLimits;
  readonly world: LaneWorld;
  /** Checks a hello, and returns the answer. */
  readonly onHello: (hello: ReturnType<typeof readHello>) => LaneAnswer;
  readonly onFrame: (frame: Uint8Array, hello: Hello) => void | Promise<void>;
  /** The head of a record is invalid; the connection ends. */
  readonly onFault: (words: string, hello: Hello) => void;
  /** The connection of an accepted lane has ended. */
  readonly onClosed: (hello: Hello) => void;
}

/** Unasked messages in each timeout for an answer. */
const WORDS_PER_TIMEOUT = 2;

export class LaneServer {
  readonly #options: LaneServerOptions;
  readonly #wire: Wire;
  readonly #records = new RecordReader(FRAME_BYTES_MAX);
  #said: Uint8Array = new Uint8Array(0);
  #hello: Hello | undefined;
  #heardMs = 0;
  #sinceMs = 0;
  /** Bytes that were read after a frame that is being processed. */
  #rest: Uint8Array | undefined;
  #stopTelling: () => void = () => undefined;

  constructor(wire: Wire, options: LaneServerOptions) {
    this.#options = options;
    this.#wire = wire;
    const stopWaiting = options.world.after(options.limits.silentMs, () => {
      if (this.#hello === undefined) wire.destroy();
    });
    // A broken stream ends; its sender opens another.
    wire.on('error', () => undefined);
    wire.on('close', () => {
      stopWaiting();
      this.#stopTelling();
      if (this.#hello !== undefined) options.onClosed(this.#hello);
    });
    wire.on('data', (chunk) => this.take(chunk));
  }

  /** The accepted hello of the open connection. */
  get hello(): Hello | undefined {
    return this.#wire.destroyed ? undefined : this.#hello;
  }

  /** The process of the open connection. */
  get heard(): HeardRun | undefined {
    const { hello } = this;
    if (hello === undefined) return undefined;
    const { header, run, address } = hello;
    const [place, sinceMs] = [header.from, this.#sinceMs];
    return { place, run, address, sinceMs, heardMs: () => this.#heardMs, destroy: () => this.destroy() };
  }

  /** Ends it at once. */
  destroy(): void {
    this.#wire.destroy();
  }

  /** Bytes have arrived. */
  take(chunk: Uint8Array): void {
    this.#heardMs = this.#options.world.nowMs();
    if (this.#rest !== undefined) this.#rest = concatBytes([this.#rest, chunk]);
    else if (this.#hello === undefined) this.#greet(chunk);
    else this.#read(chunk, this.#hello);
  }

  #greet(chunk: Uint8Array): void {
    this.#said = concatBytes([this.#said, chunk]);
    const length = helloLength(this.#said);
    if (length === undefined || this.#said.length < length) return;
    const said = this.#said;
    const hello = readHello(said.subarray(0, length));
    const answer = this.#options.onHello(hello);
    if (answer.kind !== 'accepted' || hello.kind === 'failure') {
      this.#wire.removeAllListeners('data');
      this.#wire.write(writeAnswer(answer));
      this.#wire.end();
      this.#wire.resume();
      return;
    }
    this.#wire.write(writeAnswer(answer));
    this.#hello = hello.value;
    this.#sinceMs = this.#heardMs;
    this.#said = new Uint8Array(0);
    const { world, limits } = this.#options;
    this.#stopTelling = world.every(limits.pingTimeoutMs / WORDS_PER_TIMEOUT, () => this.#say(HERE));
    if (said.length > length) this.#read(said.subarray(length), hello.value);
  }

  #read(chunk: Uint8Array, hello: Hello): void {
    let isAsked = false;
    for (let left = chunk; left.length > 0; ) {
      const { taken, record } = this.#records.read(left);
      left = left.subarray(taken);
      if (record === undefined) {
        if (this.#isFaulty(hello)) return;
        break;
      }
      if (record.length === 0) {
        isAsked = true;
        continue;
      }
      const taking = this.#options.onFrame(record, hello);
      if (taking === undefined) continue;
      this.#hold(taking, left, hello);
      break;
    }
    // Answers once, however often it was asked.
    if (isAsked) this.#say(ECHO);
  }

  /** Ends the connection if the current record cannot be read. */
  #isFaulty(hello: Hello): boolean {
    const { fault } = this.#records;
    if (fault === undefined) return false;
    this.#options.onFault(fault, hello);
    this.#wire.destroy();
    return true;
  }

  /** A pending message replaces this one: nothing accumulates for a caller that asks and does not read. */
  #say(word: Uint8Array): void {
    if (this.#wire.writableLength === 0) this.#wire.write(word);
  }

  #hold(taking: Promise<void>, rest: Uint8Array, hello: Hello): void {
    this.#rest = rest;
    this.#wire.pause();
    const goOn = (): void => {
      const left = this.#rest ?? new Uint8Array(0);
      this.#rest = undefined;
      if (this.#wire.destroyed) return;
      this.#read(left, hello);
      if (this.#rest === undefined) this.#wire.resume();
    };
    taking.then(goOn, goOn);
  }
}

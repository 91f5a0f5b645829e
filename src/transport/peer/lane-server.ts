/**
 * The dialled side of a lane: reads a hello, answers it, and hands on the frames that follow.
 *
 * As long as a frame is being taken nothing more is read. So it says by itself from time to time that it is here:
 * a ping on a connection that is not being read gets no answer. It says so twice in the time that an answer may
 * take, for both sides count from the moment in which they met.
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
  /** Who calls, and what of it is wrong. */
  readonly onHello: (hello: ReturnType<typeof readHello>) => LaneAnswer;
  readonly onFrame: (frame: Uint8Array, hello: Hello) => void | Promise<void>;
  /** A record begins that cannot be read, for this reason; the connection ends. */
  readonly onFault: (words: string, hello: Hello) => void;
  /** The connection of a lane that was accepted has ended. */
  readonly onClosed: () => void;
}

/** Unasked, while an answer may still come in time. */
const WORDS_PER_TIMEOUT = 2;

export class LaneServer {
  readonly #options: LaneServerOptions;
  readonly #wire: Wire;
  readonly #records = new RecordReader(FRAME_BYTES_MAX);
  #said: Uint8Array = new Uint8Array(0);
  #hello: Hello | undefined;
  #heardMs = 0;
  /** Read, and behind a frame that is being taken. */
  #rest: Uint8Array | undefined;
  #stopTelling: () => void = () => undefined;

  constructor(wire: Wire, options: LaneServerOptions) {
    this.#options = options;
    this.#wire = wire;
    const stopWaiting = options.world.after(options.limits.silentMs, () => {
      if (this.#hello === undefined) wire.destroy();
    });
    // A stream that breaks off ends; its sender opens another.
    wire.on('error', () => undefined);
    wire.on('close', () => {
      stopWaiting();
      this.#stopTelling();
      if (this.#hello !== undefined) options.onClosed();
    });
    wire.on('data', (chunk) => this.take(chunk));
  }

  /** The process that the open connection is of. */
  get heard(): HeardRun | undefined {
    if (this.#hello === undefined || this.#wire.destroyed) return undefined;
    const { header, run, address } = this.#hello;
    return { place: header.from, run, address, heardMs: () => this.#heardMs, destroy: () => this.destroy() };
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
    // Once, however often it was asked.
    if (isAsked) this.#say(ECHO);
  }

  /** Ends the connection if the record that has begun cannot be read. */
  #isFaulty(hello: Hello): boolean {
    const { fault } = this.#records;
    if (fault === undefined) return false;
    this.#options.onFault(fault, hello);
    this.#wire.destroy();
    return true;
  }

  /** A word that has not left is as good as this one: nothing piles up for who asks, and does not listen. */
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

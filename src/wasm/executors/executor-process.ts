/**
 * The node's side of a process that runs guests: starts it, sends frames, receives frames and its end, and kills it.
 * It does not know the meaning of a request, and never blocks.
 *
 * The process has an empty environment and runs at low priority. It may read its own program only, and may not write,
 * start processes or threads, or load native code. The runtime denies the network too where it can (Node 25 and later).
 * No JavaScript of a guest runs in it (linker.ts), so these restrictions are a second barrier.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { assert, giveBack } from '#base';
import { flagsOf, IS_SOURCE, LAUNCHER } from './executor-flags.ts';
import { FrameReader, frameHead } from './frames.ts';
import {
  type Answer,
  decodeAnswer,
  decodeHostCall,
  encodeHostResult,
  type HostCall,
  type HostResult,
} from './messages.ts';

/** The program is next to this file, with the same extension. */
const PROGRAM = fileURLToPath(new URL(IS_SOURCE ? './executor-worker.ts' : './executor-worker.js', import.meta.url));

const REQUESTS_FD = 3;
const HOST_CALLS_FD = 4;
const NICENESS = 10;
/** Bytes of its error output that are kept for the message. */
const LAST_WORDS_BYTES = 2000;
/** A host call carries at most the output limit of a guest, and names. */
const HOST_CALL_BYTES_MAX = 2 ** 28;

export interface ProcessOptions {
  readonly heapBytesMax: number;
  readonly answerBytesMax: number;
}

export interface ProcessListeners {
  onAnswer(answer: Answer): void;
  /** The listener answers once with `answerHost`, at any time. */
  onHostCall(id: number, call: HostCall): void;
  /** The process ended by itself, was killed, or sent an invalid message. No listener is called after it. */
  onEnd(why: string): void;
}

export class ExecutorProcess {
  readonly #child: ChildProcess;
  readonly #listeners: ProcessListeners;
  /** Absent when it did not start. */
  readonly #requests: Duplex | undefined;
  readonly #hostCalls: Duplex | undefined;
  #lastWords = '';
  #hasEnded = false;

  constructor(options: ProcessOptions, listeners: ProcessListeners) {
    this.#listeners = listeners;
    const own = [...flagsOf(options.heapBytesMax), PROGRAM];
    const [launcher, ...before] = LAUNCHER;
    const args = launcher === undefined ? own : [...before, process.execPath, ...own];
    this.#child = spawn(launcher ?? process.execPath, args, {
      env: {},
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    });
    // With too many processes or descriptors there are no pipes, and the error event follows.
    this.#requests = this.#pipe(REQUESTS_FD, options.answerBytesMax, (frame) => this.#heardAnswer(frame));
    this.#hostCalls = this.#pipe(HOST_CALLS_FD, HOST_CALL_BYTES_MAX, (frame) => this.#heardHostCall(frame));
    this.#child.stderr?.on('data', (piece: Buffer) => {
      this.#lastWords = (this.#lastWords + piece.toString('latin1')).slice(-LAST_WORDS_BYTES);
    });
    this.#child.on('error', (error) => this.#end(`It does not start: ${error.message}`));
    this.#child.on('close', (code, signal) => this.#end(this.#ending(code, signal)));
  }

  /** Absent when it did not start. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  send([head, bytes]: readonly [head: Uint8Array, bytes: Uint8Array]): void {
    assert(!this.#hasEnded, 'Nothing is sent to a process that has ended');
    write(this.#requests, bytes.length > 0 ? [head, bytes] : [head]);
  }

  answerHost(result: HostResult): void {
    if (this.#hasEnded) return;
    write(this.#hostCalls, [encodeHostResult(result)]);
  }

  /** Ends the process; its end is reported as any other. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #pipe(fd: number, bytesMax: number, onFrame: (frame: Uint8Array) => void): Duplex | undefined {
    const stream = this.#child.stdio?.[fd];
    if (!(stream instanceof Duplex)) return undefined;
    const reader = new FrameReader(bytesMax, onFrame);
    stream.on('data', (piece: Buffer) => {
      if (!reader.push(piece)) this.#breach(`sends more than ${bytesMax} bytes at once`);
      // A long answer arrives in a thousand pieces.
      giveBack(piece);
    });
    // The pipe breaks when the process ends, which is reported separately.
    stream.on('error', () => undefined);
    return stream;
  }

  #heardAnswer(frame: Uint8Array): void {
    if (this.#hasEnded) return;
    const answer = decodeAnswer(frame);
    if (answer === undefined) this.#breach('answers what makes no sense');
    else if (answer.kind === 'ready') void this.#renice().then(() => this.#heardReady(answer));
    else this.#listeners.onAnswer(answer);
  }

  #heardReady(answer: Answer): void {
    if (!this.#hasEnded) this.#listeners.onAnswer(answer);
  }

  #heardHostCall(frame: Uint8Array): void {
    if (this.#hasEnded) return;
    const asked = decodeHostCall(frame);
    if (asked === undefined) this.#breach('calls what makes no sense');
    else this.#listeners.onHostCall(asked.id, asked.call);
  }

  #breach(what: string): void {
    this.kill();
    this.#end(`It ${what}`);
  }

  /** Sets the priority of each thread: on Linux the priority of a process is that of its first thread. */
  async #renice(): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined) return;
    const threads = await readdir(`/proc/${pid}/task`).catch(() => [String(pid)]);
    for (const thread of threads) reniced(Number(thread));
  }

  #ending(code: number | null, signal: string | null): string {
    const how = signal === null ? `It ends with exit code ${code}` : `It is ended by ${signal}`;
    const words = this.#lastWords.trim();
    return words === '' ? how : `${how}, saying ${JSON.stringify(words)}`;
  }

  #end(why: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#requests?.destroy();
    this.#hostCalls?.destroy();
    this.#listeners.onEnd(why);
  }
}

/** Writes the parts of one frame. */
function write(stream: Duplex | undefined, parts: readonly Uint8Array[]): void {
  if (stream === undefined) return;
  stream.cork();
  stream.write(frameHead(parts.reduce((sum, { length }) => sum + length, 0)));
  for (const part of parts) stream.write(part);
  stream.uncork();
}

/** The thread may have ended, and the system may deny the change. */
function reniced(thread: number): void {
  try {
    setPriority(thread, NICENESS);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

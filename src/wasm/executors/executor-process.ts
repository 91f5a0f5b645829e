/**
 * A process that runs guests, as the node holds it: it starts it, hands frames over, hears frames and its end, and
 * kills it. It does not know what a request is for, and never waits for anything.
 *
 * The process has no environment, no permission to read but its own program, to write, to start processes or threads or
 * to load machine code, and runs niced. Where the runtime can deny the network (Node 25 and later) it does. No
 * JavaScript of a guest runs in it (linker.ts), so all of that is a second wall.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { assert, giveBack } from '#base';
import { flagsOf, IS_SOURCE, LAUNCHER, type ProcessBounds } from './executor-flags.ts';
import { FrameReader, frameHead } from './frames.ts';
import {
  type Answer,
  decodeAnswer,
  decodeHostCall,
  encodeHostResult,
  type HostCall,
  type HostResult,
} from './messages.ts';

/** The program stands beside this file, under the same extension. */
const PROGRAM = fileURLToPath(new URL(IS_SOURCE ? './executor-worker.ts' : './executor-worker.js', import.meta.url));

const REQUESTS_FD = 3;
const HOST_CALLS_FD = 4;
const NICENESS = 10;
/** What is kept of what it says before it ends. */
const LAST_WORDS_BYTES = 2000;
/** A host call has as much as a guest may give away at most, and its names. */
const HOST_CALL_BYTES_MAX = 2 ** 28;

export interface ProcessOptions extends ProcessBounds {
  readonly answerBytesMax: number;
}

export interface ProcessListeners {
  onAnswer(answer: Answer): void;
  /** Answered by `answerHost`, once, at any time. */
  onHostCall(id: number, call: HostCall): void;
  /** It has ended: by itself, or killed, or because it said what makes no sense. Nothing is heard after it. */
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
    const own = [...flagsOf(options), PROGRAM];
    const [launcher, ...before] = LAUNCHER;
    const args = launcher === undefined ? own : [...before, process.execPath, ...own];
    this.#child = spawn(launcher ?? process.execPath, args, {
      env: {},
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    });
    // Where there are too many processes or descriptors there are no pipes, and the error comes later.
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

  /** It is told nothing and says nothing from here on; its end is heard as any other. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #pipe(fd: number, bytesMax: number, onFrame: (frame: Uint8Array) => void): Duplex | undefined {
    const stream = this.#child.stdio?.[fd];
    if (!(stream instanceof Duplex)) return undefined;
    const reader = new FrameReader(bytesMax, onFrame);
    stream.on('data', (piece: Buffer) => {
      if (!reader.push(piece)) this.#breach(`says more than ${bytesMax} bytes at once`);
      // A long answer comes in a thousand of them.
      giveBack(piece);
    });
    // The other side is gone, which its end says better.
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

  /** Each thread by itself: on Linux the priority of a process is that of its first thread. */
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

/** One frame, at once. */
function write(stream: Duplex | undefined, parts: readonly Uint8Array[]): void {
  if (stream === undefined) return;
  stream.cork();
  stream.write(frameHead(parts.reduce((sum, { length }) => sum + length, 0)));
  for (const part of parts) stream.write(part);
  stream.uncork();
}

/** A thread may have ended meanwhile, and a system may not let us. */
function reniced(thread: number): void {
  try {
    setPriority(thread, NICENESS);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
}

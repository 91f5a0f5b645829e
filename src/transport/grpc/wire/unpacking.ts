/**
 * Compressed messages, as they came, and what is wrong with those that are none.
 *
 * A few kilobytes may unpack to the longest message there is. So a few are unpacked at a time, by connection in turn,
 * each with room for the longest message taken before (TM1); the others wait as they came, and those whose stream has
 * gone are never unpacked.
 */
import { gunzip, inflate } from 'node:zlib';
import { Link } from '#base';
import { type Line, Lines, TurnsByLine } from '../../turns-by-line.ts';
import type { FrameFault, Packing } from './frame-faults.ts';
import type { Room } from './peer-stream.ts';

export type Unpacked =
  | { readonly kind: 'message'; readonly message: Uint8Array }
  | { readonly kind: 'fault'; readonly fault: FrameFault }
  /** There was no room for what it might be. */
  | { readonly kind: 'no-room' }
  /** Its stream has ended meanwhile. */
  | { readonly kind: 'gone' };

/** The stream of a message. */
export interface Sender {
  readonly connection: object;
  readonly isGone: boolean;
  /** Longest message, unpacked. */
  readonly messageBytesMax: number;
  /** Takes room for so many bytes, or has no more than that from now on; false: there is no room. */
  deliver(messageBytes: number): boolean;
  /** Releases it when the stream has gone, if not before. */
  keep(room: Room): void;
}

/** They share the threads of the pool with the writes of the store. */
const AT_ONCE = 2;

/** Whether there is room for the message; undefined: its stream has gone. */
type Begin = (hasRoom: boolean | undefined) => void;

class Waiting {
  readonly link: Link<Waiting> = new Link<Waiting>(this);
  readonly line: Line<Waiting>;
  readonly sender: Sender;
  readonly begin: Begin;

  constructor(line: Line<Waiting>, sender: Sender, begin: Begin) {
    this.line = line;
    this.sender = sender;
    this.begin = begin;
  }
}

export class Unpacker {
  readonly #waiting = new TurnsByLine<Waiting>();
  readonly #lines = new Lines<Waiting>();
  #running = 0;

  /** Unpacks in a thread of the pool; never more than the longest message. */
  async unpack(message: Uint8Array, encoding: Packing, sender: Sender): Promise<Unpacked> {
    const hasRoom = await this.#turn(sender);
    if (hasRoom === undefined) return { kind: 'gone' };
    if (!hasRoom) return { kind: 'no-room' };
    try {
      return await unpacked(message, encoding, sender.messageBytesMax);
    } finally {
      this.#running -= 1;
      // Behind whoever counts what it has turned out to be.
      setImmediate(() => this.#next());
    }
  }

  /** Whether there is room, once it is the turn of the connection; undefined: the stream has gone. */
  #turn(sender: Sender): Promise<boolean | undefined> {
    return new Promise((begin) => {
      const waiting = new Waiting(this.#lines.of(sender.connection), sender, begin);
      this.#waiting.add(waiting.line, waiting.link);
      sender.keep({ release: () => this.#forget(waiting) });
      this.#next();
    });
  }

  #forget(waiting: Waiting): void {
    if (this.#waiting.remove(waiting.line, waiting.link)) waiting.begin(undefined);
  }

  #next(): void {
    while (this.#running < AT_ONCE) {
      const next = this.#waiting.first();
      if (next === undefined) return;
      this.#waiting.serve(next.line, next.link);
      const hasRoom = next.sender.isGone ? undefined : next.sender.deliver(next.sender.messageBytesMax);
      if (hasRoom === true) this.#running += 1;
      next.begin(hasRoom);
    }
  }
}

function unpacked(message: Uint8Array, encoding: Packing, bytesMax: number): Promise<Unpacked> {
  const decompress = encoding === 'gzip' ? gunzip : inflate;
  return new Promise((resolve) => {
    decompress(message, { maxOutputLength: bytesMax }, (error, bytes) => {
      if (error === null) resolve({ kind: 'message', message: bytes });
      else resolve({ kind: 'fault', fault: faultOf(error, encoding, bytesMax) });
    });
  });
}

function faultOf(error: NodeJS.ErrnoException, encoding: Packing, bytesMax: number): FrameFault {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') return { kind: 'unpacked-too-long', encoding, bytesMax };
  return { kind: 'not-packed', encoding, why: error.message };
}

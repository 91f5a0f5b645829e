/**
 * Opens a connection before node:http2 receives it: the settings are announced here, not by node:http2.
 *
 * ```
 *   connected ── SETTINGS sent ──> opening ── they are acknowledged ──> handed to node:http2, with the acknowledgement
 *                                     ├── it is not HTTP/2 ──> handed over as it is, to be refused
 *                                     ├── too much, or others need the room ──> GOAWAY, and closed
 *                                     └── too late ──> destroyed
 * ```
 *
 * node:http2 refuses streams beyond the limit that it has announced, and counts reset streams until the end of the
 * event-loop turn. So it would refuse allowed streams of a client that replaces reset ones at once. It has no limit
 * when it announces none; stream-limits.ts (T12) enforces the number that is announced here.
 *
 * One byte of a header block may refer to an entry of 4 KiB in the table of HPACK, which nghttp2 checks again each
 * time, before the server can decide about it. So there is no table: its size is announced as 0. nghttp2 enforces
 * that when its own SETTINGS are acknowledged, and a client may withhold this. So the client does not see them: they
 * are sent as the payload of a frame of an unknown type, which it must ignore (RFC 9113, 5.5), and nghttp2 gets the
 * acknowledgement of ours for them (ADR 0068).
 *
 * A client that does not acknowledge settings, as RFC 9113 requires, is not served.
 */
import { constants, type Settings } from 'node:http2';
import type { Socket } from 'node:net';
import type { FrameFloods, RequestBytes } from './frame-floods.ts';
import type { Hold, MemoryBudget } from './memory-budget.ts';

export interface OpeningOptions {
  readonly socket: Socket;
  /** Streams that the client may have open at a time. */
  readonly streams: number;
  /** A client that has not acknowledged the settings by then is disconnected. */
  readonly withinMs: number;
  /** Counts the bytes that arrive before the acknowledgement. */
  readonly requests: MemoryBudget;
  /** Watches the connection from its handover on. */
  readonly floods: FrameFloods;
  /** The receiver reads the socket, and counts the bytes of its requests. Bytes read here are put back first. */
  readonly onOpen: (requests: RequestBytes) => void;
}

/** RFC 9113, 3.4. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
const FRAME_HEADER_BYTES = 9;
const TYPE_AT = 3;
const FLAGS_AT = 4;
const HEADERS = 1;
const SETTINGS = 4;
const ACK = 1;
const GOAWAY = 7;
const CONTINUATION = 9;
/** A type that no specification defines. */
const IGNORED = 0xca;
const HEADER_TABLE_SIZE = 1;
const MAX_CONCURRENT_STREAMS = 3;
const SETTING_BYTES = 6;

/** The settings that node:http2 must announce, so that nghttp2 enforces them. Their number is known before. */
export const NO_HPACK_TABLE: Settings = { headerTableSize: 0 };

/**
 * A client may send requests before it knows any settings: the 64 KiB of its first window, each in its frames, and the
 * headers of hundreds of calls at once.
 */
const HELD_BYTES_MAX = 1024 * 1024;

/** Bytes of header blocks before the acknowledgement, while an HPACK table still exists. */
const HEADER_BYTES_MAX = 32 * 1024;

/** Overhead of each piece in memory. */
const PIECE_BYTES = 256;

/** Bytes that a connection holds without a budget; the limit on connections bounds their sum. */
const UNCOUNTED_BYTES = 4 * 1024;

/** Time for which input is still read after a refusal, so that a TCP reset does not destroy the reason. */
const FAREWELL_MS = 1_000;

const NOTHING = Buffer.alloc(0);
const IGNORE = (): void => undefined;

function frameHeader(type: number, bytes: number): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(bytes, 0, TYPE_AT);
  header.writeUInt8(type, TYPE_AT);
  return header;
}

/** SETTINGS (RFC 9113, 6.5.1). */
function announcement(streams: number): Buffer {
  const settings = Buffer.alloc(2 * SETTING_BYTES);
  settings.writeUInt16BE(HEADER_TABLE_SIZE);
  settings.writeUInt16BE(MAX_CONCURRENT_STREAMS, SETTING_BYTES);
  settings.writeUInt32BE(streams, SETTING_BYTES + 2);
  return Buffer.concat([frameHeader(SETTINGS, settings.length), settings]);
}

/** GOAWAY (RFC 9113, 6.8): no request was processed, and all may be retried. */
function farewell(): Buffer {
  const words = Buffer.from('There is no room for so much before the settings are acknowledged', 'latin1');
  const codes = Buffer.alloc(8);
  codes.writeUInt32BE(constants.NGHTTP2_ENHANCE_YOUR_CALM, 4);
  return Buffer.concat([frameHeader(GOAWAY, codes.length + words.length), codes, words]);
}

/**
 * `here`: it has arrived; `missing`: it may still arrive; `broken`: a fault precedes it; `flood`: too many header
 * blocks precede it.
 */
type Place = 'here' | 'missing' | 'broken' | 'flood';

/** Finds the first acknowledgement of settings in the input of a client, which arrives in pieces. */
class Acknowledgement {
  /** Received bytes of an incomplete preface or frame header. */
  #head: Buffer = NOTHING;
  #isPreface = true;
  /** Remaining bytes of a frame. */
  #left = 0;
  #headerBytesLeft = HEADER_BYTES_MAX;

  take(piece: Buffer): Place {
    let at = 0;
    while (at < piece.length) {
      const inFrame = Math.min(this.#left, piece.length - at);
      this.#left -= inFrame;
      at += inFrame;
      const wanted = this.#isPreface ? PREFACE.length : FRAME_HEADER_BYTES;
      const more = piece.subarray(at, at + wanted - this.#head.length);
      this.#head = Buffer.concat([this.#head, more]);
      at += more.length;
      const found = this.#look(wanted);
      if (found !== 'missing') return found;
    }
    return 'missing';
  }

  #look(wanted: number): Place {
    const head = this.#head;
    if (this.#isPreface && !head.equals(PREFACE.subarray(0, head.length))) return 'broken';
    if (head.length < wanted) return 'missing';
    this.#head = NOTHING;
    if (this.#isPreface) {
      this.#isPreface = false;
      return 'missing';
    }
    this.#left = head.readUIntBE(0, TYPE_AT);
    const type = head.readUInt8(TYPE_AT);
    if (type === HEADERS || type === CONTINUATION) this.#headerBytesLeft -= this.#left;
    if (this.#headerBytesLeft < 0) return 'flood';
    if (type !== SETTINGS || (head.readUInt8(FLAGS_AT) & ACK) === 0) return 'missing';
    return this.#left === 0 ? 'here' : 'broken';
  }
}

/** Announces the settings of a connection, and waits until its client knows them. */
export function announceSettings(options: OpeningOptions): void {
  new Opening(options).begin();
}

class Opening {
  readonly #options: OpeningOptions;
  #timer: NodeJS.Timeout | undefined;
  readonly #acknowledgement = new Acknowledgement();
  readonly #onData = (piece: Buffer): void => this.#read(piece);
  #pieces: Buffer[] = [];
  #bytes = 0;
  #hold: Hold | undefined;
  #hasLeft = false;

  constructor(options: OpeningOptions) {
    this.#options = options;
  }

  begin(): void {
    const { socket, withinMs, streams } = this.#options;
    this.#timer = setTimeout(() => socket.destroy(), withinMs).unref();
    // Any error closes it.
    socket.on('error', IGNORE);
    socket.once('close', () => this.#letGo());
    // It is paused when its first bytes were read before.
    socket.on('data', this.#onData).resume();
    socket.write(announcement(streams));
  }

  #read(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length + PIECE_BYTES;
    const place = this.#acknowledgement.take(piece);
    if (place === 'here' || place === 'broken') this.#handOver(place);
    else if (place === 'flood' || this.#bytes > HELD_BYTES_MAX || !this.#hasRoom()) this.#leave();
  }

  /** Evicts no other connection: a client need not send anything before it knows the settings. */
  #hasRoom(): boolean {
    if (this.#bytes <= UNCOUNTED_BYTES) return true;
    const { requests, socket } = this.#options;
    if (this.#hold !== undefined) return this.#hold.tryGrow(this.#bytes);
    const account = requests.of(socket);
    account.distrust();
    this.#hold = account.tryTake(this.#bytes, () => this.#leave());
    this.#hold?.watch();
    return this.#hold !== undefined;
  }

  #leave(): void {
    const { socket } = this.#options;
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#letGo();
    socket.off('data', this.#onData).resume();
    socket.end(farewell());
    this.#timer = setTimeout(() => socket.destroy(), FAREWELL_MS).unref();
  }

  #handOver(place: 'here' | 'broken'): void {
    const { socket, floods, onOpen } = this.#options;
    // The first frame of node:http2, which the client must ignore.
    const hidden = FRAME_HEADER_BYTES + SETTING_BYTES * Object.keys(NO_HPACK_TABLE).length;
    socket.off('data', this.#onData);
    socket.pause();
    // The socket decides after this piece whether it continues to read, and a TLS socket accepts nothing from
    // node:http2 before it has sent earlier writes. So the handover follows the write.
    socket.write(place === 'here' ? frameHeader(IGNORED, hidden) : NOTHING, () => {
      const bytes = Buffer.concat(this.#pieces);
      this.#letGo();
      socket.off('error', IGNORE);
      // The client has closed meanwhile. Bytes cannot be unshifted after the end.
      if (socket.readableEnded) socket.destroy();
      if (socket.destroyed) return;
      if (bytes.length > 0) socket.unshift(bytes);
      onOpen(floods.watch(socket));
    });
  }

  #letGo(): void {
    clearTimeout(this.#timer);
    this.#hold?.release();
    this.#pieces = [];
  }
}

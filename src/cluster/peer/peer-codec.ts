/**
 * Encodes and decodes the frames between two nodes. A frame carries messages of all groups, forwarded requests
 * (forward-bytes.ts), and parts of a snapshot transfer (letter-bytes.ts).
 *
 * ```
 * content   := u8 flags: 1 held, 2 beats, 4 answers
 *              [name name]     which table of beats, and of answers, the sender holds of the receiver's
 *              [table]         beats                            repeat-table.ts
 *              [table]         answers to beats
 *              envelope*       everything else, to the end
 * envelope  := route, message                                   message-bytes.ts
 * name      := u64 session, varint seq                          0 and 0: none
 * ```
 *
 * Invariants:
 *   P1  Decoding never throws. A frame gives the messages that were encoded into it, or one failure and changes
 *       nothing: it is applied only when all of it is valid.
 *   P2  A table that is reconstructed from differences has the rows that were encoded under its name; other tables are
 *       dropped, and the next one is whole.
 */
import {
  assert,
  type ByteReader,
  ByteWriter,
  type Crc32,
  fail,
  failure,
  type NodeId,
  ok,
  type Random,
  type Result,
} from '#base';
import type { BeatAck, Message } from '#raft';
import type { ForwardItem } from './forward.ts';
import { FORWARDS } from './forward-bytes.ts';
import {
  beginFrame,
  FRAME_BYTES_MAX,
  type FrameContent,
  openFrame,
  type ReceivedHeader,
  readFrameHeader,
  sealFrame,
} from './frame.ts';
import { readLetter, writeLetter } from './letter-bytes.ts';
import type { Envelope } from './links.ts';
import { carries, LANES, type Lane, laneOf } from './links.ts';
import { type Ends, MESSAGES, readRoute, writeRoute } from './message-bytes.ts';
import type { FrameFault } from './observer.ts';
import type { PeerIdentity, StoreId } from './peer-identity.ts';
import {
  type ReadTable,
  type RowShape,
  type TableName,
  TableReader,
  TableWriter,
  type TakenTable,
} from './repeat-table.ts';
import type { Beat, SentTables } from './sent-table.ts';
import type { SnapshotLetter } from './snapshot-letter.ts';

export interface PeerCodecParts {
  readonly clusterId: string;
  readonly self: PeerIdentity;
  readonly crc32: Crc32;
  readonly random: Random;
}

export interface OutgoingFrame {
  readonly lane: Lane;
  readonly frame: Uint8Array;
}

export interface IncomingFrame {
  readonly from: PeerIdentity;
  /** Heartbeats, and acknowledgements of them, that arrived as tables; they precede the messages. */
  readonly tables: ReceivedTables;
  /** All other messages, in the order of encoding. */
  readonly messages: readonly Envelope[];
  /** In the order of encoding. A frame has either these or messages. */
  readonly forwards: readonly ForwardItem[];
  /** A frame with a message of a snapshot transfer has no other content. */
  readonly letter: SnapshotLetter | undefined;
}

/** Undefined: no such table arrived, or it could not be reconstructed. */
export interface ReceivedTables {
  readonly beats?: TakenTable<Beat> | undefined;
  readonly answers?: TakenTable<BeatAck> | undefined;
}

const NO_TABLES: ReceivedTables = {};
const NO_MESSAGES: readonly Envelope[] = [];
const NO_FORWARDS: readonly ForwardItem[] = [];

/** A frame of this length accepts no further message. Longer ones cost more a byte (bench/peer-links.ts). */
const FRAME_FULL_BYTES = 60 * 2 ** 10;
/** Maximum number of nodes with stored tables. The least recent is dropped, and its next table is whole. */
const NODES_MAX = 256;
const SESSION_BYTES = 7;
/** Maximum number of messages, besides tables, or of forwarded requests in one frame. */
const ITEMS_MAX = 2 ** 15;

const MALFORMED: FrameFault = { kind: 'malformed', words: 'its content is malformed' };

const HELD = 1;
const BEATS = 2;
const ANSWERS = 4;
const FLAGS_MAX = HELD + BEATS + ANSWERS;

const BEAT: RowShape<Beat> = {
  fields: MESSAGES.of('beat'),
  isSame: (one, other) => one.commit === other.commit && one.term === other.term && one.round === other.round,
};

const ANSWER: RowShape<BeatAck> = {
  fields: MESSAGES.of('beat-ack'),
  isSame: (one, other) => one.term === other.term && one.round === other.round,
};

/** The tables exchanged with another node. */
interface Correspondent {
  readonly store: StoreId;
  readonly beats: TableWriter<Beat>;
  readonly answers: TableWriter<BeatAck>;
  readonly itsBeats: TableReader<Beat>;
  readonly itsAnswers: TableReader<BeatAck>;
}

/** Messages of one turn, by encoding. */
interface Sorted {
  readonly beats: Envelope<Beat>[];
  readonly answers: Envelope<BeatAck>[];
  readonly others: Readonly<Record<Lane, Envelope[]>>;
}

/** A decoded frame that was not applied yet. */
interface Content {
  readonly held: { readonly beats: TableName; readonly answers: TableName } | undefined;
  readonly beats: ReadTable<Beat> | undefined;
  readonly answers: ReadTable<BeatAck> | undefined;
  readonly messages: readonly Envelope[];
}

export class PeerCodec {
  readonly #parts: PeerCodecParts;
  readonly #nodes = new Map<NodeId, Correspondent>();
  readonly #writer = new ByteWriter();

  constructor(parts: PeerCodecParts) {
    this.#parts = parts;
  }

  /**
   * Encodes the messages of one turn for another node. Messages of a lane keep their order, except heartbeats and their
   * acknowledgements. A frame that is not sent counts as lost. `sent` has the tables that are due.
   */
  encode(to: PeerIdentity, messages: readonly Envelope[], sent: SentTables = {}): readonly OutgoingFrame[] {
    const { beats, answers, others } = sorted(messages);
    const ends = { from: this.#parts.self.node, to: to.node };
    const frames: OutgoingFrame[] = [];
    const write = (envelope: Envelope): void => {
      writeRoute(this.#writer, envelope, ends);
      MESSAGES.write(this.#writer, envelope.message);
    };
    for (const lane of LANES) {
      this.#begin(to, 'messages');
      let rest: readonly Envelope[] = others[lane];
      if (lane === 'beats' && beats.length + answers.length + rest.length + sizeOf(sent) > 0) {
        rest = [...this.#writeTables(to, { beats, answers }, sent), ...rest];
      } else {
        if (rest.length === 0) continue;
        this.#writer.u8(0);
      }
      const begin = (): void => {
        this.#begin(to, 'messages');
        this.#writer.u8(0);
      };
      for (const frame of this.#fill(rest, write, begin)) frames.push({ lane, frame });
    }
    return frames;
  }

  /**
   * Encodes requests for another node, and replies to its own, in order. They use the append lane, so that the sender
   * learns the position of an entry before the entry arrives.
   */
  encodeForwards(to: PeerIdentity, items: readonly ForwardItem[]): readonly OutgoingFrame[] {
    const begin = (): void => this.#begin(to, 'forwards');
    begin();
    const frames = this.#fill(items, (item) => FORWARDS.write(this.#writer, item), begin);
    return frames.map((frame) => ({ lane: 'appends', frame }));
  }

  /** Encodes a message of a snapshot transfer, for the lane `bulk`. */
  encodeLetter(to: PeerIdentity, letter: SnapshotLetter): Uint8Array {
    this.#begin(to, 'letter');
    writeLetter(this.#writer, letter, { from: this.#parts.self.node, to: to.node });
    return this.#sealed();
  }

  /**
   * Decodes a frame for this node. A failure names the fault, and then nothing of the frame is applied. `lane` is the
   * lane that it arrived on, if any: content of another lane is a fault.
   */
  decode(frame: Uint8Array, lane?: Lane): Result<IncomingFrame, FrameFault> {
    // A Buffer is a Uint8Array whose `slice` shares memory: it must not be passed on.
    const bytes = new Uint8Array(frame.buffer, frame.byteOffset, frame.length);
    const header = readFrameHeader(bytes);
    if (header.kind === 'failure') return malformed(header.reason);
    const { clusterId, to, content } = header.value;
    const { self } = this.#parts;
    if (clusterId !== this.#parts.clusterId) {
      return failure({ kind: 'cluster', words: `it is of the cluster ${clusterId}` });
    }
    if (to.node !== self.node || to.store !== self.store) {
      return failure({ kind: 'receiver', words: `it is for node ${to.node}, store ${to.store}` });
    }
    if (lane !== undefined && !carries(lane, content)) return astray(lane, content);
    const opened = openFrame(bytes, this.#parts.crc32);
    if (opened.kind === 'failure') return malformed(opened.reason);
    return this.#decodeContent(opened.value, header.value, lane);
  }

  /** The connection to a node broke: frames in flight are lost, so the next tables are whole. */
  forget(node: NodeId): void {
    const peer = this.#nodes.get(node);
    peer?.beats.forget();
    peer?.answers.forget();
  }

  #decodeContent(
    reader: ByteReader,
    { from, to, content }: ReceivedHeader,
    lane: Lane | undefined,
  ): Result<IncomingFrame, FrameFault> {
    if (content === 'forwards') {
      const forwards = readItems(reader, () => FORWARDS.read(reader));
      return reader.failed
        ? failure(MALFORMED)
        : ok({ from, tables: NO_TABLES, messages: NO_MESSAGES, forwards, letter: undefined });
    }
    const ends = { from: from.node, to: to.node };
    if (content === 'letter') {
      const letter = readLetter(reader, ends);
      if (letter === undefined) return failure(MALFORMED);
      return ok({ from, tables: NO_TABLES, messages: NO_MESSAGES, forwards: NO_FORWARDS, letter });
    }
    const peer = this.#correspondent(from);
    const read = readContent(reader, peer, ends);
    if (read === undefined) return failure(MALFORMED);
    const stray = lane === undefined ? undefined : strayIn(read, lane);
    if (lane !== undefined && stray !== undefined) return astray(lane, stray);
    const tables = take(read, peer);
    return ok({ from, tables, messages: read.messages, forwards: NO_FORWARDS, letter: undefined });
  }

  /** Begins the content of a frame of the lane `beats`. Returns the messages that do not fit into a table. */
  #writeTables(
    to: PeerIdentity,
    { beats, answers }: Pick<Sorted, 'beats' | 'answers'>,
    sent: SentTables,
  ): readonly Envelope[] {
    const writer = this.#writer;
    const peer = this.#correspondent(to);
    const ends = { from: this.#parts.self.node, to: to.node };
    const beatRows = { envelopes: beats, sent: sent.beats };
    const answerRows = { envelopes: answers, sent: sent.answers };
    const hasBeats = peer.beats.takes(beats, sent.beats);
    const hasAnswers = peer.answers.takes(answers, sent.answers);
    writer.u8(HELD + (hasBeats ? BEATS : 0) + (hasAnswers ? ANSWERS : 0));
    for (const { session, seq } of [peer.itsBeats.held, peer.itsAnswers.held]) {
      writer.u64le(session);
      writer.varint(seq);
    }
    const otherBeats = hasBeats ? peer.beats.write(writer, beatRows, ends) : beats;
    const otherAnswers = hasAnswers ? peer.answers.write(writer, answerRows, ends) : answers;
    return [...otherBeats, ...otherAnswers];
  }

  #begin(to: PeerIdentity, content: FrameContent): void {
    this.#writer.reset();
    beginFrame(this.#writer, { clusterId: this.#parts.clusterId, from: this.#parts.self, to }, content);
  }

  /** Adds the items to the current frame, and to further ones when it is full. */
  #fill<Item>(items: readonly Item[], write: (item: Item) => void, begin: () => void): readonly Uint8Array[] {
    const frames: Uint8Array[] = [];
    let count = 0;
    for (const item of items) {
      if (count === ITEMS_MAX || this.#writer.length >= FRAME_FULL_BYTES) {
        frames.push(this.#sealed());
        begin();
        count = 0;
      }
      write(item);
      count += 1;
    }
    frames.push(this.#sealed());
    return frames;
  }

  #sealed(): Uint8Array {
    const frame = this.#writer.take();
    assert(frame.length <= FRAME_BYTES_MAX, 'What is taken into a frame fits into it', frame.length);
    return sealFrame(frame, this.#parts.crc32);
  }

  #correspondent({ node, store }: PeerIdentity): Correspondent {
    const known = this.#nodes.get(node);
    this.#nodes.delete(node);
    const peer = known?.store === store ? known : this.#stranger(store);
    this.#nodes.set(node, peer);
    const [longestUnheard] = this.#nodes.keys();
    if (this.#nodes.size > NODES_MAX && longestUnheard !== undefined) this.#nodes.delete(longestUnheard);
    return peer;
  }

  #stranger(store: StoreId): Correspondent {
    return {
      store,
      beats: new TableWriter(BEAT, drawNumber(this.#parts.random)),
      answers: new TableWriter(ANSWER, drawNumber(this.#parts.random)),
      itsBeats: new TableReader(BEAT),
      itsAnswers: new TableReader(ANSWER),
    };
  }
}

/** 1 to 2^53 - 1: a session of tables, or the run of a process; differs from those before a restart. */
export function drawNumber(random: Random): number {
  const [high = 0, ...low] = random.bytes(SESSION_BYTES);
  return low.reduce((value, byte) => 0x100 * value + byte, high & 0x1f) || 1;
}

function sorted(messages: readonly Envelope[]): Sorted {
  const beats: Envelope<Beat>[] = [];
  const answers: Envelope<BeatAck>[] = [];
  const others: Sorted['others'] = { beats: [], appends: [], bulk: [] };
  for (const envelope of messages) {
    if (isOf('beat', envelope)) beats.push(envelope);
    else if (isOf('beat-ack', envelope)) answers.push(envelope);
    else others[laneOf(envelope)].push(envelope);
  }
  return { beats, answers, others };
}

function isOf<K extends Message['kind']>(
  kind: K,
  envelope: Envelope,
): envelope is Envelope<Extract<Message, { readonly kind: K }>> {
  return envelope.message.kind === kind;
}

/** Reads to the end and changes nothing; undefined for malformed content. */
function readContent(reader: ByteReader, peer: Correspondent, ends: Ends): Content | undefined {
  const flags = reader.u8();
  if (flags > FLAGS_MAX) fail(reader);
  const held = (flags & HELD) === 0 ? undefined : { beats: readName(reader), answers: readName(reader) };
  const beats = (flags & BEATS) === 0 ? undefined : peer.itsBeats.read(reader, ends);
  const answers = (flags & ANSWERS) === 0 ? undefined : peer.itsAnswers.read(reader, ends);
  const messages = readItems(reader, () => ({ ...readRoute(reader, ends), message: MESSAGES.read(reader) }));
  return reader.failed ? undefined : { held, beats, answers, messages };
}

/** Reads to the end of the content. */
function readItems<Item>(reader: ByteReader, read: () => Item): readonly Item[] {
  const items: Item[] = [];
  while (reader.left > 0 && !reader.failed) {
    if (items.length === ITEMS_MAX) fail(reader);
    else items.push(read());
  }
  return items;
}

/** Describes content that belongs to another lane; undefined when there is none. */
function strayIn({ held, beats, answers, messages }: Content, lane: Lane): string | undefined {
  const hasTables = held !== undefined || beats !== undefined || answers !== undefined;
  if (hasTables && lane !== 'beats') return 'tables of beats';
  for (const envelope of messages) if (laneOf(envelope) !== lane) return envelope.message.kind;
  return undefined;
}

function astray(lane: Lane, what: string): Result<never, FrameFault> {
  return failure({ kind: 'lane', words: `${what} came by the lane ${lane}, which does not carry that` });
}

function malformed(words: string): Result<never, FrameFault> {
  return failure({ kind: 'malformed', words });
}

function take({ held, beats, answers }: Content, peer: Correspondent): ReceivedTables {
  if (held !== undefined) {
    peer.beats.confirm(held.beats);
    peer.answers.confirm(held.answers);
  }
  if (beats === undefined && answers === undefined) return NO_TABLES;
  return { beats: beats && peer.itsBeats.take(beats), answers: answers && peer.itsAnswers.take(answers) };
}

function sizeOf({ beats, answers }: SentTables): number {
  return (beats?.rows.size ?? 0) + (answers?.rows.size ?? 0);
}

function readName(reader: ByteReader): TableName {
  return { session: reader.u64le(), seq: reader.varint() };
}

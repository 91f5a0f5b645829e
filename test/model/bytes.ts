/**
 * Sends raw bytes to each port of a node: mutated conversations of real clients, and random bytes. Sessions of the
 * model continue on the same nodes meanwhile, and all their answers must be right.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Random } from './generate/random.ts';

/** A port that bytes are sent to, with recorded conversations: for each connection the chunks, in order. */
export class Target implements AsyncDisposable {
  readonly name: string;
  readonly port: number;
  readonly recorded: Buffer[][] = [];
  isOver = false;
  readonly #server: Server = createServer((socket) => this.#pass(socket));

  constructor(name: string, address: string) {
    this.name = name;
    this.port = Number(/\d+$/.exec(address)?.[0]);
  }

  /** Records what is sent to the same port of another loopback address, and forwards it. */
  async record(): Promise<void> {
    await once(this.#server.listen(this.port, RECORDED_HOST), 'listening');
  }

  #pass(client: Socket): void {
    const server = connect(this.port, HOST);
    const pieces: Buffer[] = [];
    if (this.recorded.length < RECORDED_MAX) this.recorded.push(pieces);
    let bytes = 0;
    client.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= RECORDED_BYTES_MAX && !this.isOver) pieces.push(piece);
    });
    for (const [from, to] of [[client, server] as const, [server, client] as const]) {
      from
        .setNoDelay(true)
        .on('error', () => to.destroy())
        .on('close', () => to.destroy())
        .pipe(to);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }
}

const HOST = '127.0.0.1';
export const RECORDED_HOST = '127.0.0.2';
const RECORDED_MAX = 64;
const RECORDED_BYTES_MAX = 1 << 16;
const IN_FLIGHT = 24;
/** Minimum number of compared answers of the model. */
const REQUESTS_LEAST = 200;
const SILENCE_MS = 30;
const BYTES_MAX = 1 << 18;

/** Sends the conversations, several at a time; `meanwhile` sends requests of the model until then. */
export async function sendBytes(
  targets: readonly Target[],
  plan: { seed: number; bytes: number },
  meanwhile: { requests: number },
): Promise<void> {
  for (const target of targets) target.isOver = true;
  const random = new Random(plan.seed);
  let left = plan.bytes;
  const send = async (): Promise<void> => {
    while (left-- > 0) {
      const target = random.pick(targets);
      const pieces = conversation(random, target, targets);
      await converse(target, pieces, random.pick(['end', 'destroy', 'reset'] as const));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, send));
  meanwhile.requests = REQUESTS_LEAST;
}

/** One in ten is completely random; one in ten of the others was recorded at another port. */
function conversation(random: Random, target: Target, targets: readonly Target[]): readonly Buffer[] {
  if (random.chance(10)) return random.list(1, 3, () => noise(random));
  const { name, recorded } = random.chance(10) ? random.pick(targets) : target;
  const pieces = recorded.length === 0 ? [] : random.pick(recorded);
  // HTTP requests are independent; frames depend on earlier ones.
  const from = name === 'http' || name === 'mcp' ? random.below(pieces.length) : 0;
  const taken = pieces.slice(from, from + 1 + random.below(12));
  const times = random.pick([0, 1, 1, 1, 2, 4]);
  let bytes: Buffer = Buffer.concat(taken);
  for (let n = 0; n < times; n++) bytes = mutated(random, bytes).subarray(0, BYTES_MAX);
  const cut = random.below(bytes.length + 1);
  return random.chance(50) ? [bytes] : [bytes.subarray(0, cut), bytes.subarray(cut)];
}

/** Byte sequences with a meaning for parsers. */
const WORDS: readonly Buffer[] = [
  '\r\n\r\n|\r\n|\0|Transfer-Encoding: chunked\r\n|Content-Length: 5\r\n|Content-Length: -1\r\n|0\r\n\r\n|\u00ff|"|{|[[|-',
  'Expect: 100-continue\r\n|Connection: upgrade\r\nUpgrade: h2c\r\n|ffffffffffffffff\r\n|GET * HTTP/1.1\r\n|%00|/../|?a=%',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n|[{"jsonrpc":"2.0","id":1,"method":"ping"}]|,"id":null|,"id":1e400|"params":[]|\\ud800|CPLN',
].flatMap((words) => words.split('|').map((word) => Buffer.from(word, 'latin1')));
/** Number of HTTP/2 frame types, and one unknown type. */
const FRAME_TYPES = 11;
const LENGTHS = [0, 1, 4, 5, 6, 8, 255, 16_384, 16_385];
const NUMBERS = [0, 1, 0x7f, 0x80, 0xff, 0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff];

const MUTATIONS: readonly ((random: Random, bytes: Buffer) => Buffer)[] = [
  (random, bytes) => {
    const flipped = Buffer.from(bytes);
    if (bytes.length > 0) flipped[random.below(bytes.length)] = random.below(256);
    return flipped;
  },
  (random, bytes) => {
    const written = Buffer.from(bytes);
    if (bytes.length >= 4) written.writeUInt32BE(random.pick(NUMBERS), random.below(bytes.length - 3));
    return written;
  },
  (random, bytes) => bytes.subarray(0, random.below(bytes.length + 1)),
  (random, bytes) => replaced(random, bytes, () => Buffer.alloc(0)),
  (random, bytes) => replaced(random, bytes, (range) => Buffer.concat([range, range])),
  (random, bytes) => inserted(random, bytes, random.pick(WORDS)),
  (random, bytes) => inserted(random, bytes, frame(random)),
  (random, bytes) => inserted(random, bytes, noise(random)),
  (random, bytes) => inserted(random, bytes, Buffer.alloc(1 << random.below(17), random.pick(WORDS))),
  (random, bytes) => Buffer.concat([bytes, frame(random), frame(random)]),
];

function mutated(random: Random, bytes: Buffer): Buffer {
  return random.pick(MUTATIONS)(random, bytes);
}

function replaced(random: Random, bytes: Buffer, replace: (range: Buffer) => Buffer): Buffer {
  const from = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, from + random.below(64));
  return Buffer.concat([bytes.subarray(0, from), replace(bytes.subarray(from, to)), bytes.subarray(to)]);
}

function inserted(random: Random, bytes: Buffer, more: Buffer): Buffer {
  return replaced(random, bytes, (range) => Buffer.concat([more, range]));
}

function noise(random: Random): Buffer {
  return Buffer.from(random.list(0, 200, () => random.below(256)));
}

/** An HTTP/2 frame whose length may differ from its payload. */
function frame(random: Random): Buffer {
  const payload = noise(random);
  const head = Buffer.alloc(9);
  head.writeUIntBE(random.chance(60) ? payload.length : random.pick(LENGTHS), 0, 3);
  head.writeUInt8(random.below(FRAME_TYPES), 3);
  head.writeUInt8(random.pick([0, 1, 4, 5, 8, 0x20, 0xff]), 4);
  head.writeUInt32BE(random.pick([0, 1, 1, 3, 5, 2, 0x7f_ff_ff_ff, 0xff_ff_ff_ff]), 5);
  return Buffer.concat([head, payload]);
}

/** Ends when the server closes the connection, or some time after its last data. */
async function converse({ port }: Target, pieces: readonly Buffer[], end: 'end' | 'destroy' | 'reset'): Promise<void> {
  const socket = connect(port, HOST);
  const closed = new Promise<void>((resolve) => socket.on('error', () => undefined).once('close', () => resolve()));
  socket.setTimeout(SILENCE_MS, () => {
    if (end === 'reset') socket.resetAndDestroy();
    else if (end === 'destroy' || socket.writableEnded) socket.destroy();
    else socket.end();
  });
  socket.on('data', () => undefined);
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise(setImmediate);
  }
  await closed;
}

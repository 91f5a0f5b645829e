/**
 * `kubectl exec`: a WebSocket from kubectl through the API server, with the subprotocol v5.channel.k8s.io. The first
 * byte of each message names a channel; how the command ended is a Status in the last one. There are no terminals.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const PROTOCOL = 'v5.channel.k8s.io';
/** RFC 6455. */
const ACCEPT = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const BINARY = 2;
const CLOSE = 8;
const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 };
const SHORT_BYTES = 125;
const LONG_BYTES = 0xffff;

/** Answers the upgrade, and runs the command in a container until it ends. */
export async function execute(request: IncomingMessage, socket: Duplex, runcId: string): Promise<void> {
  const { searchParams } = new URL(request.url ?? '/', 'https://kubelet');
  const key = `${request.headers['sec-websocket-key']}${ACCEPT}`;
  const head = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${createHash('sha1').update(key).digest('base64')}`,
    `Sec-WebSocket-Protocol: ${PROTOCOL}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const child = spawn('runc', ['exec', runcId, ...searchParams.getAll('command')]);
  child.stdout.on('data', (data: Buffer) => socket.write(frame(BINARY, CHANNELS.stdout, data)));
  child.stderr.on('data', (data: Buffer) => socket.write(frame(BINARY, CHANNELS.stderr, data)));
  if (!searchParams.has('input') && !searchParams.has('stdin')) child.stdin.end();
  socket.on(
    'data',
    framesOf((channel, data) => {
      if (channel === CHANNELS.stdin) child.stdin.write(data);
      if (channel === CHANNELS.close) child.stdin.end();
    }),
  );
  child.stdin.on('error', () => undefined);
  socket.on('error', () => child.kill()).on('close', () => child.kill());
  const [code]: (number | null)[] = await once(child, 'close');
  socket.write(frame(BINARY, CHANNELS.error, Buffer.from(JSON.stringify(statusOf(code ?? 1)))));
  // 1000: it is over.
  socket.end(frame(CLOSE, 0x03, Buffer.from([0xe8])));
}

function statusOf(code: number): object {
  if (code === 0) return { metadata: {}, status: 'Success' };
  const causes = [{ reason: 'ExitCode', message: String(code) }];
  const message = `command terminated with non-zero exit code: exit status ${code}`;
  return { metadata: {}, status: 'Failure', reason: 'NonZeroExitCode', message, details: { causes } };
}

/** A whole message of the server: a channel, and data. */
function frame(kind: number, channel: number, data: Buffer): Buffer {
  const size = data.length + 1;
  const head = size <= SHORT_BYTES ? Buffer.alloc(2) : Buffer.alloc(size <= LONG_BYTES ? 4 : 10);
  head[0] = 0x80 | kind;
  head[1] = size;
  if (head.length === 4) head[1] = SHORT_BYTES + 1;
  if (head.length === 10) head[1] = SHORT_BYTES + 2;
  if (head.length === 4) head.writeUInt16BE(size, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(size), 2);
  return Buffer.concat([head, Buffer.from([channel]), data]);
}

/** Takes bytes of the client, whose messages are masked, and tells each that has a channel. */
function framesOf(tell: (channel: number, data: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (let message = parse(rest); message !== undefined; message = parse(rest)) {
      rest = rest.subarray(message.end);
      const [channel, ...data] = message.data;
      if (message.kind === BINARY && channel !== undefined) tell(channel, Buffer.from(data));
    }
  };
}

function parse(bytes: Buffer): { readonly kind: number; readonly data: Buffer; readonly end: number } | undefined {
  const short = (bytes[1] ?? 0) & 0x7f;
  const head = short <= SHORT_BYTES ? 2 : short === SHORT_BYTES + 1 ? 4 : 10;
  if (bytes.length < head + 4) return undefined;
  const size = head === 2 ? short : head === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const end = head + 4 + size;
  if (bytes.length < end) return undefined;
  const mask = bytes.subarray(head, head + 4);
  const data = Buffer.from(bytes.subarray(head + 4, end)).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
  return { kind: (bytes[0] ?? 0) & 0x0f, data: Buffer.from(data), end };
}

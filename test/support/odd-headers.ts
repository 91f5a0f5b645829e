// An HTTP/2 client that adds a header to each request which node:http2 would refuse to send, such as one without a
// name, by rewriting its outgoing frames (RFC 9113, 4.1; RFC 7541, 6.2.2).
import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { Duplex, Transform } from 'node:stream';

const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;
const HEADERS = 1;

/** Name and value have at most 126 bytes. */
export function connectWithHeader(port: number, name: string, value: string): ClientHttp2Session {
  const field = literalField(name, value);
  const socket = connectSocket(port, '127.0.0.1');
  const frames = new Transform({
    transform: (piece: Buffer, _encoding, done) => {
      rest = Buffer.concat([rest, piece]);
      for (let taken = take(); taken !== undefined; taken = take()) frames.push(taken);
      done();
    },
  });
  let rest = Buffer.alloc(0);
  let isBegun = false;
  /** The next complete frame, or the preface. */
  const take = (): Buffer | undefined => {
    const bytes = isBegun ? FRAME_HEADER_BYTES : PREFACE_BYTES;
    if (rest.length < bytes) return undefined;
    const end = isBegun ? bytes + rest.readUIntBE(0, 3) : bytes;
    if (rest.length < end) return undefined;
    const whole = rest.subarray(0, end);
    rest = rest.subarray(end);
    const isHeaders = isBegun && whole[3] === HEADERS;
    isBegun = true;
    return isHeaders ? withField(whole, field) : whole;
  };
  frames.pipe(socket);
  const session = connect(`http://127.0.0.1:${port}`, {
    createConnection: () => Duplex.from({ readable: socket, writable: frames }),
  });
  session.on('error', () => undefined);
  session.on('close', () => socket.destroy());
  return session;
}

function withField(frame: Buffer, field: Buffer): Buffer {
  const longer = Buffer.concat([frame, field]);
  longer.writeUIntBE(longer.length - FRAME_HEADER_BYTES, 0, 3);
  return longer;
}

/** A literal header field, without HPACK tables. */
function literalField(name: string, value: string): Buffer {
  const [nameBytes, valueBytes] = [Buffer.from(name), Buffer.from(value)];
  return Buffer.concat([Uint8Array.of(0, nameBytes.length), nameBytes, Uint8Array.of(valueBytes.length), valueBytes]);
}

/** A single call on an open connection, for loads in which a request depends on the previous reply. */
import type { Http2Connection } from './http2-connection.ts';

const FRAME_HEADER_BYTES = 5;

/** The messages of the reply, in order; empty when the call failed. */
export function messagesOf(connection: Http2Connection, headers: Buffer, request: Buffer): Promise<readonly Buffer[]> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    connection.call(headers, request, {
      onData: (bytes) => void parts.push(Buffer.from(bytes)),
      onEnd: ({ ok }) => resolve(ok ? framesOf(Buffer.concat(parts)) : []),
    });
  });
}

function framesOf(bytes: Buffer): readonly Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at + FRAME_HEADER_BYTES <= bytes.length; ) {
    const end = at + FRAME_HEADER_BYTES + bytes.readUInt32BE(at + 1);
    messages.push(bytes.subarray(at + FRAME_HEADER_BYTES, end));
    at = end;
  }
  return messages;
}

/**
 * A gRPC client that sends exactly the bytes it is told to, also wrong ones, and shows exactly what came back.
 */
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';

export interface RawReply {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** From the trailers, or from the headers of a reply without a body. */
  readonly status: number | undefined;
  readonly message: string;
  readonly resetCode: number;
}

export interface RawRequest {
  readonly path: string;
  readonly headers?: Record<string, string>;
  /** Sent as they are, each in a write of its own; framing is the caller's business. */
  readonly pieces?: readonly Uint8Array[];
}

export class RawGrpc {
  readonly session: ClientHttp2Session;

  constructor(port: number) {
    this.session = connect(`http://127.0.0.1:${port}`);
    this.session.on('error', () => undefined);
  }

  call(request: RawRequest): Promise<RawReply> {
    const stream = this.session.request({
      ':method': 'POST',
      ':path': request.path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...request.headers,
    });
    for (const piece of request.pieces ?? []) stream.write(piece);
    stream.end();
    return new Promise((resolve, reject) => {
      let headers: IncomingHttpHeaders = {};
      let trailers: IncomingHttpHeaders = {};
      const body: Buffer[] = [];
      stream.on('response', (received) => {
        headers = received;
      });
      stream.on('trailers', (received) => {
        trailers = received;
      });
      stream.on('data', (piece: Buffer) => body.push(piece));
      stream.on('error', reject);
      stream.on('close', () => {
        const ending = { ...headers, ...trailers };
        const status = ending['grpc-status'];
        resolve({
          headers,
          trailers,
          body: Buffer.concat(body),
          status: status === undefined ? undefined : Number(status),
          message: decodeURIComponent(String(ending['grpc-message'] ?? '')),
          resetCode: stream.rstCode,
        });
      });
    });
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.session.close(resolve));
  }
}

/** Sends a request with node:http, which does not decompress the reply, on a new connection. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';

export interface Undecoded {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
}

export async function ask(
  address: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  { method = 'GET', body = '' }: { readonly method?: string; readonly body?: string } = {},
): Promise<Undecoded> {
  const outgoing = request(`${address}${path}`, { method, headers, agent: false }).end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(pieces) };
}

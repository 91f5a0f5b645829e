/** Bodies of the MCP endpoint: JSON within a limit, counted with the requests of the other transports (TM1). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ByteBudgets, noRoom, RETRY_AFTER_MS } from '../byte-budgets.ts';
import type { Hold } from '../memory-budget.ts';
import { BODY_BYTES_MAX, BODY_PACE_BYTES, BODY_PACE_MS } from './limits.ts';
import { readMessage } from './message-json.ts';
import { refuse, refuseJson } from './refusals.ts';

export interface Received {
  readonly json: unknown;
  /** Releases its memory when it is no longer needed. */
  readonly release: () => void;
}

/** Receives the body of a request. Undefined: it was invalid, and the error is sent. */
export async function receive(
  request: IncomingMessage,
  response: ServerResponse,
  { requests }: ByteBudgets,
): Promise<Received | undefined> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    refuseLast(response, 415, 'Content-Type must be application/json');
    return undefined;
  }
  const hold = requests.of(request.socket).takeAnyway(0, () => request.destroy());
  hold.watch();
  const bytes = await collected(request, response, hold);
  hold.pin();
  const read = bytes && readMessage(bytes);
  if (read?.kind === 'read') return { json: read.value, release: () => hold.release() };
  hold.release();
  if (read?.isTooLarge === true) refuse(response, 413, `The body holds too much: ${read.message}`);
  else if (read !== undefined) refuseJson(response, `Parse error: the body must be JSON: ${read.message}`);
  return undefined;
}

async function collected(request: IncomingMessage, response: ServerResponse, hold: Hold): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  let pacedLength = 0;
  const slow = setInterval(() => {
    if (length - pacedLength >= BODY_PACE_BYTES) pacedLength = length;
    else {
      clearInterval(slow);
      response.once('finish', () => request.destroy());
      refuseLast(response, 408, `The body must bring ${BODY_PACE_BYTES} bytes in every ${BODY_PACE_MS} ms`);
    }
  }, BODY_PACE_MS);
  try {
    for await (const chunk of request) {
      if (!(chunk instanceof Buffer)) continue;
      length += chunk.length;
      if (length > BODY_BYTES_MAX) {
        refuseLast(response, 413, `The body must have at most ${BODY_BYTES_MAX} bytes`);
        return undefined;
      }
      if (!hold.tryGrow(length)) {
        refuseLast(response, 503, noRoom().message, { 'retry-after': String(Math.ceil(RETRY_AFTER_MS / 1000)) });
        return undefined;
      }
      chunks.push(chunk);
    }
  } catch {
    // The client has disconnected, or was disconnected: an answer cannot be sent.
    response.destroy();
    return undefined;
  } finally {
    clearInterval(slow);
  }
  return Buffer.concat(chunks);
}

/** The rest of the body is not read. */
function refuseLast(response: ServerResponse, status: number, message: string, headers = {}): void {
  refuse(response, status, message, { ...headers, connection: 'close' });
}

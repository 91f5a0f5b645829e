/**
 * What an identity provider publishes, read with bounds: it is trusted with who somebody is, and not with the memory or
 * the time of a node. A redirect is a failure: where keys come from is what the operator has said.
 */
import type { IncomingMessage } from 'node:http';

export interface GetBounds {
  readonly bytesMax: number;
  /** From the look-up of the name to the last byte. */
  readonly timeoutMs: number;
}

const OK = 200;
/** There is nothing of the name; some stores say that they will not tell. */
const ABSENT: ReadonlySet<number | undefined> = new Set([403, 404, 410]);

/** Nothing is there: that is known, and no failure of whoever was asked. */
export class NothingThere extends Error {}

/** @throws Error that says why nothing was read. */
export async function boundedGet(url: URL, { bytesMax, timeoutMs }: GetBounds): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await wholeText(await begun(url, signal), bytesMax);
  } catch (failure) {
    if (signal.aborted) throw new Error(`it has not answered within ${timeoutMs} ms`, { cause: failure });
    throw failure;
  }
}

function begun(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  // Not imported: an import would load all that they have, the client of the web among it.
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    const headers = { accept: 'application/json, */*' };
    request(url, { agent: false, headers, signal }, resolve).on('error', reject).end();
  });
}

async function wholeText(answer: IncomingMessage, bytesMax: number): Promise<string> {
  try {
    if (ABSENT.has(answer.statusCode)) throw new NothingThere(`it has answered ${answer.statusCode}`);
    if (answer.statusCode !== OK) throw new Error(`it has answered ${answer.statusCode}, which must be 200`);
    const pieces: Buffer[] = [];
    let byteCount = 0;
    for await (const piece of answer) {
      if (!Buffer.isBuffer(piece)) continue;
      byteCount += piece.length;
      if (byteCount > bytesMax) throw new Error(`its answer is longer than ${bytesMax} bytes`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces, byteCount).toString('utf8');
  } finally {
    answer.destroy();
  }
}

/**
 * Reads documents of an identity provider with limits: the provider is trusted to identify principals, but not with the
 * memory or the time of a node. A redirect is a failure, because the operator has configured where keys come from.
 */
import type { IncomingMessage } from 'node:http';

export interface GetBounds {
  readonly bytesMax: number;
  /** Timeout from the DNS lookup to the last byte. */
  readonly timeoutMs: number;
}

const OK = 200;
/** The document does not exist; some object stores answer 403 instead of 404. */
const ABSENT: ReadonlySet<number | undefined> = new Set([403, 404, 410]);

/** The document does not exist. The provider has answered, so this is not an outage. */
export class DocumentNotFound extends Error {}

/** @throws Error with the reason why nothing was read. */
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
  // Not imported: an import would load everything in the module, including fetch.
  const { request } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    const headers = { accept: 'application/json, */*' };
    request(url, { agent: false, headers, signal }, resolve).on('error', reject).end();
  });
}

async function wholeText(answer: IncomingMessage, bytesMax: number): Promise<string> {
  try {
    if (ABSENT.has(answer.statusCode)) throw new DocumentNotFound(`it has answered ${answer.statusCode}`);
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

/** HTTPS requests for tests, to a server whose certificate a given authority has issued. */
import { request } from 'node:https';

export interface HttpsAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface HttpsSent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const TIMEOUT_MS = 45_000;

/** Rejects with the error of the handshake. `ca`: in PEM; undefined: the default authorities of Node.js. */
export function askHttps(url: string, ca: string | undefined, sent: HttpsSent = {}): Promise<HttpsAnswer> {
  const { method = 'GET', headers = {}, body } = sent;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, ca, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) });
    outgoing.once('error', reject);
    outgoing.once('response', (answer) => {
      answer.setEncoding('utf8');
      let text = '';
      answer.on('data', (piece: string) => void (text += piece));
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      answer.once('error', reject);
    });
    outgoing.end(body);
  });
}

/**
 * What a kubelet asks of a process: whether it has started, whether it lives, and whether it is to receive requests.
 *
 * Each probe is a list of checks, in the format of kube-apiserver: `ok`, or with `?verbose`, and whenever a check
 * fails, a line for each check. Anybody may ask: a reason names no database and nothing that is stored.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface ProbeCheck {
  readonly name: string;
  /** Why it fails now; undefined: it does not. Called for every request: it only looks at what is known. */
  readonly fault: () => string | undefined;
}

export const PROBE_PATHS = ['/livez', '/readyz', '/startupz'] as const;

export type ProbePath = (typeof PROBE_PATHS)[number];

export type Probes = Readonly<Record<ProbePath, readonly ProbeCheck[]>>;

interface ProbeReply {
  readonly status: 200 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly body: string;
}

/** The query parameter; its value does not matter. */
export const VERBOSE = 'verbose';

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

export function probeReply(probes: Probes, path: ProbePath, isVerbose: boolean): ProbeReply {
  const found = probes[path].map(({ name, fault }) => ({ name, fault: fault() }));
  const hasFailed = found.some(({ fault }) => fault !== undefined);
  const lines = found.map(({ name, fault }) => (fault === undefined ? `[+]${name} ok` : `[-]${name} failed: ${fault}`));
  const verdict = `${path.slice(1)} check ${hasFailed ? 'failed' : 'passed'}`;
  return {
    status: hasFailed ? 503 : 200,
    headers: HEADERS,
    contentType: 'text/plain; charset=utf-8',
    body: hasFailed || isVerbose ? `${[...lines, verdict].join('\n')}\n` : 'ok',
  };
}

/** Answers a request for a probe, on a port that serves little else. False: it is for something else. */
export function answerProbe({ url = '', method }: IncomingMessage, response: ServerResponse, probes: Probes): boolean {
  const [target, query] = url.split('?', 2);
  const path = PROBE_PATHS.find((each) => each === target);
  if (path === undefined || (method !== 'GET' && method !== 'HEAD')) return false;
  const { status, headers, contentType, body } = probeReply(probes, path, new URLSearchParams(query).has(VERBOSE));
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, {
    ...headers,
    'content-type': contentType,
    'content-length': length,
    connection: 'close',
  });
  response.end(method === 'HEAD' ? undefined : body);
  return true;
}

/**
 * Probes of a kubelet: whether the process has started, is alive, and should receive requests.
 *
 * Each probe is a list of checks in the format of kube-apiserver: `ok`, or one line per check with `?verbose` and when
 * a check fails. Probes need no credential, so reasons name no database and no stored data.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface ProbeCheck {
  readonly name: string;
  /** Reason why the check fails now; undefined when it passes. Called for every request: it only reads known state. */
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

/** Name of the query parameter; its value is ignored. */
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

/** Answers a request for a probe; returns false for any other request. */
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

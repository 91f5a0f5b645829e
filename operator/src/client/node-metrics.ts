/** Metrics of a node, from the port that answers also while the node is not ready. */
import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getSecure } from 'node:https';
import type { Endpoint } from './channel.ts';

const TIMEOUT_MS = 3_000;
const LENGTH_MAX = 16 * 2 ** 20;

/** Values by name and labels, as in `cairn_disk_level` or `cairn_store_size_bytes{kind="wal"}`. */
type Samples = ReadonlyMap<string, number>;

/** Rejects when the node does not answer within three seconds. */
async function scrape({ address, identity: { tls } }: Endpoint): Promise<Samples> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const request =
    tls === undefined
      ? getPlain(`http://${address}/metrics`, { signal }, resolve)
      : getSecure(`https://${address}/metrics`, { signal, ca: tls.authorities, agent: false }, resolve);
  request.once('error', reject);
  const response = await promise;
  let text = '';
  for await (const part of response.setEncoding('utf8')) {
    text += String(part);
    if (text.length > LENGTH_MAX) throw new Error(`the metrics of ${address} are longer than ${LENGTH_MAX}`);
  }
  if (response.statusCode !== 200) throw new Error(`${address} answers ${response.statusCode}`);
  return samplesOf(text);
}

function samplesOf(text: string): Samples {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}

/** Calls of a component on some nodes, since each has started. */
export interface Calls extends Readonly<Record<(typeof RESULTS)[number], number>> {
  /** Numbers of calls by the milliseconds that they took at most. */
  readonly within: ReadonlyMap<number, number>;
}

const RESULTS = ['answered', 'failed', 'trapped'] as const;

const DURATION = 'cairn_component_call_duration_seconds';

/** Calls of the component with this SHA-256, as sha256: and 64 digits. Undefined when a node does not answer. */
export async function callsOf(nodes: readonly Endpoint[], digest: string): Promise<Calls | undefined> {
  const found = await Promise.all(nodes.map((node) => scrape(node).catch(() => undefined)));
  const known = found.filter((samples) => samples !== undefined);
  if (known.length === 0 || known.length < found.length) return undefined;
  const counts = { answered: 0, failed: 0, trapped: 0 };
  const within = new Map<number, number>();
  for (const [name, value] of known.flatMap((samples) => [...samples])) {
    if (!name.startsWith(DURATION) || !name.includes(`digest="${digest.replace('sha256:', '')}"`)) continue;
    const [, bound] = /le="([0-9.]+)"/.exec(name) ?? [];
    const ms = Math.round(1000 * Number(bound));
    if (bound !== undefined) within.set(ms, (within.get(ms) ?? 0) + value);
    const result = RESULTS.find((each) => name.includes(`result="${each}"`));
    if (result !== undefined && name.startsWith(`${DURATION}_count`)) counts[result] += value;
  }
  return { ...counts, within };
}

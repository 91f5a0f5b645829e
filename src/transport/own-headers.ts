/**
 * Request headers that are ours. An unknown one is refused, because a misspelt `x-min-revision` must not become a read
 * at any revision. Headers of other software, also of proxies, are never refused.
 */
import { nearestName } from '#base';
import { COUNTED } from './rate-limits.ts';
import { RELAYED, SHOWN } from './relay.ts';

/** All of ours begin with it, and some of other software. */
export const OWN_PREFIX = 'x-';

export const OF_CLIENTS: readonly string[] = [
  'x-batch-id',
  'x-last-seen-revision',
  'x-min-revision',
  'x-require-leader',
];
const KNOWN: ReadonlySet<string> = new Set([...OF_CLIENTS, RELAYED, SHOWN, COUNTED]);
/** More edits may turn the name into the header of other software. */
const EDITS_MAX = 2;

/** Headers of HTTP/1 that concern one connection. */
export const OF_A_CONNECTION: readonly string[] = [
  'connection',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Lowercase names in a header that lists names of headers, such as `Connection`. */
export function namedIn(header: string | undefined): ReadonlySet<string> {
  return new Set(
    (header ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
}

/** Rule that a header breaks, by its lowercase name; undefined when it is known or not ours. */
export function headerRule(name: string): string | undefined {
  if (!name.startsWith(OWN_PREFIX) || KNOWN.has(name)) return undefined;
  const meant = nearestName(name, OF_CLIENTS, EDITS_MAX);
  if (meant !== undefined) return `is unknown: use ${meant}`;
  return name.startsWith('x-cairn-') ? `is unknown: use ${OF_CLIENTS.join(', ')}` : undefined;
}

/**
 * Rule that one of our headers breaks on a route that ignores it. Its sender relies on it: a transaction with
 * `x-last-seen-revision` must not commit on top of any revision.
 */
export function untakenRule(name: string, taken: readonly string[]): string | undefined {
  if (!OF_CLIENTS.includes(name) || taken.includes(name)) return undefined;
  return `is not taken here; taken are ${taken.join(', ')}`;
}

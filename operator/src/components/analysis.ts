/** Decides whether a component meets the limits of its rollout. Pure. */
import type { Calls } from '../client/index.ts';
import type { ComponentResource } from './world.ts';

export type Analysis = NonNullable<ComponentResource['spec']['rollout']['analysis']>;

/** A limit that is not measured does not count as met. */
export type Verdict =
  | { readonly kind: 'unmeasured'; readonly message: string }
  | { readonly kind: 'met' }
  | { readonly kind: 'missed'; readonly message: string };

/** Share of the calls, in percent, that end within maxFoldMilliseconds. */
const FAST_PERCENT = 99;

export function verdictOf(
  { maxErrorPercent = 100, maxTraps = Number.POSITIVE_INFINITY, maxFoldMilliseconds }: Analysis,
  calls: Calls | undefined,
): Verdict {
  if (calls === undefined) return { kind: 'unmeasured', message: 'not all nodes answer' };
  const { answered, failed, trapped, within } = calls;
  const errors = failed + trapped;
  const total = answered + errors;
  if (total === 0) return { kind: 'unmeasured', message: 'the component was not called yet' };
  if (trapped > maxTraps) return { kind: 'missed', message: `${trapped} of ${total} calls trapped` };
  if (100 * errors > maxErrorPercent * total) return { kind: 'missed', message: `${errors} of ${total} calls failed` };
  if (maxFoldMilliseconds === undefined) return { kind: 'met' };
  // The highest bound of the histogram that is not above the limit.
  const bound = Math.max(0, ...[...within.keys()].filter((ms) => ms <= maxFoldMilliseconds));
  const slow = total - (within.get(bound) ?? 0);
  if (100 * slow <= (100 - FAST_PERCENT) * total) return { kind: 'met' };
  return { kind: 'missed', message: `${slow} of ${total} calls took more than ${bound} ms` };
}

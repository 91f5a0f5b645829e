/** The parameter that ends effective time for a State View or a query, and its value `now` (SPEC-HTTP-R2). */
import { INSTANT_SECONDS_MAX, type Instant, instantFault, instantFromMs, parseInstant } from '#base';
import type { DatabaseDescription, ReadAt } from '#service';
import { invalidField } from './errors.ts';
import type { HttpRequest } from './request.ts';
import type { RouteContext } from './route.ts';

export const CUT = 'effective_time_end_at';
export const NOW = 'now';

export function cutFrom(text: string | undefined): Instant | typeof NOW | undefined {
  if (text === undefined || text === NOW) return text;
  const cut = parseInstant(text);
  if (cut !== undefined) return cut;
  throw invalidField(CUT, instantFault(text) ?? 'must be a time as RFC 3339 has it, or now', text);
}

const NOW_MS_MAX = INSTANT_SECONDS_MAX * 1000 + 999;

/**
 * Replaces `now` by a time for the URL, so that the reply can be repeated. It is never before the recorded time of the
 * revision, so a clock that was set back hides no acknowledged transaction (ADR 0009), and never after the last instant
 * that can be written.
 */
export async function nowAt(
  request: HttpRequest,
  { service, clock }: RouteContext,
  at: ReadAt,
): Promise<{ readonly instant: Instant; readonly scope: DatabaseDescription }> {
  const scope = await service.databaseAt({ ...request.read(), at });
  const nowMs = Math.min(Math.max(clock.nowMs(), scope.revisionTimeMs), NOW_MS_MAX);
  return { instant: instantFromMs(nowMs), scope };
}

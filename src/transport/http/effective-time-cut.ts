/** Where a State View or a query at a revision is cut in effective time, and what `now` means there (SPEC-HTTP-R2). */
import { INSTANT_SECONDS_MAX, type Instant, instantFault, instantFromMs, parseInstant } from '#base';
import type { DatabaseDescription, ReadAt } from '#service';
import { invalidField } from './errors.ts';
import type { HttpRequest } from './request.ts';
import type { RouteContext } from './route.ts';

/** The parameter. */
export const CUT = 'effective_time_end_at';
export const NOW = 'now';

/** A time, `now`, or nothing. */
export function cutFrom(text: string | undefined): Instant | typeof NOW | undefined {
  if (text === undefined || text === NOW) return text;
  const cut = parseInstant(text);
  if (cut !== undefined) return cut;
  throw invalidField(CUT, instantFault(text) ?? 'must be a time as RFC 3339 has it, or now', text);
}

/** The last millisecond of the year 9999. */
const NOW_MS_MAX = INSTANT_SECONDS_MAX * 1000 + 999;

export interface Now {
  readonly instant: Instant;
  /** The database at the revision. */
  readonly scope: DatabaseDescription;
}

/**
 * A time that a URL can name, so that the answer can be repeated. It is never before what the revision recorded: a
 * clock that was set back hides no transaction that was answered (ADR 0009). A clock beyond the last instant that can
 * be written means that one, before which everything is.
 */
export async function nowAt(request: HttpRequest, { service, clock }: RouteContext, at: ReadAt): Promise<Now> {
  const scope = await service.databaseAt({ ...request.read(), at });
  const nowMs = Math.min(Math.max(clock.nowMs(), scope.revisionTimeMs), NOW_MS_MAX);
  return { instant: instantFromMs(nowMs), scope };
}

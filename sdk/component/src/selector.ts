/** Selectors of events: a part of the JSON forms of the database, and their matching. */
import type { StoredEvent } from './event.ts';

/** Attributes that must all match; or all, or any, of several selectors. `{}` selects every event. */
export type Selector =
  | {
      readonly stream?: string;
      readonly event_type?: string;
      readonly subject?: string;
      readonly source?: string;
    }
  | { readonly and: readonly Selector[] }
  | { readonly or: readonly Selector[] };

/** Matches as the database does. */
export function isMatch(selector: Selector, event: StoredEvent): boolean {
  if ('and' in selector) return selector.and.every((part) => isMatch(part, event));
  if ('or' in selector) return selector.or.some((part) => isMatch(part, event));
  const { stream, event_type: type, subject, source } = selector;
  return (
    (stream === undefined || stream === streamOf(event.source)) &&
    (type === undefined || type === event.type) &&
    (subject === undefined || subject === event.subject) &&
    (source === undefined || source === event.source)
  );
}

/** The last non-empty segment of the path of a source. */
function streamOf(source: string): string | undefined {
  const [path = ''] = source
    .replace(/^[A-Za-z][\w+.-]*:/, '')
    .replace(/^\/\/[^/?#]*/, '')
    .split(/[?#]/);
  return path.split('/').findLast((segment) => segment !== '');
}

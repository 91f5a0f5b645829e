/** Which events are meant: a few of the forms of JSON that the database takes, and what they match. */
import type { StoredEvent } from './event.ts';

/** Attributes that all have to be as they are said; or all, or any, of several selectors. `{}` is every event. */
export type Selector =
  | {
      readonly stream?: string;
      readonly event_type?: string;
      readonly subject?: string;
      readonly source?: string;
    }
  | { readonly and: readonly Selector[] }
  | { readonly or: readonly Selector[] };

/** As the database says it. */
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

/** The last segment of the path of a source that is not empty. */
function streamOf(source: string): string | undefined {
  const [path = ''] = source
    .replace(/^[A-Za-z][\w+.-]*:/, '')
    .replace(/^\/\/[^/?#]*/, '')
    .split(/[?#]/);
  return path.split('/').findLast((segment) => segment !== '');
}

/**
 * Paths of commands, with open segments that values fill:
 *
 * ```
 * path      ("/" segment)+
 * segment   {name}          open: the value of that name, percent-encoded
 *         | text            kept as written, percent escapes included
 * ```
 * A State Change finds its decision by the path, and extracts the decoded values of its own `{name}` segments. A filled
 * value is always one segment, and is extracted unchanged (M10).
 */
import { quote, utf8Length } from '#base';
import type { FaultPlace } from './faults.ts';
import { inside } from './json-read.ts';
import { URI_BYTES_MAX } from './limits.ts';

export interface PathTemplate {
  /** At least one. */
  readonly segments: readonly PathSegment[];
}

export type PathSegment =
  | { readonly kind: 'fixed'; readonly text: string }
  | { readonly kind: 'open'; readonly name: string };

const OPEN = /^\{([A-Za-z_][A-Za-z0-9_-]{0,63})\}$/;
/** White space, control characters, and the beginning of a query or a fragment. */
const FOREIGN = /[\s\p{Cc}?#\\]/u;
const PATH_RULE =
  'must begin with "/" and contain no white space, "?", "#" or "\\", such as /accounts/{account}/deposits; ' +
  'query parameters are listed separately';
const SEGMENT_RULE =
  'must be of fixed segments and {name} segments; a name is a letter or "_", then up to 63 letters, digits, "_" or "-"';

/** The template, or undefined with the fault added. */
export function parsePathTemplate(text: string, { field, faults }: FaultPlace): PathTemplate | undefined {
  if (!text.isWellFormed()) return faults.add(field, 'must not contain an unpaired surrogate', text);
  if (utf8Length(text) > URI_BYTES_MAX) return faults.add(field, `must be at most ${URI_BYTES_MAX} bytes`, text);
  if (!text.startsWith('/') || FOREIGN.test(text)) return faults.add(field, PATH_RULE, text);
  const segments = text.split('/').slice(1).map(segmentOf);
  for (const segment of segments) {
    if (segment.kind === 'open') continue;
    if (/[{}]/.test(segment.text)) return faults.add(field, SEGMENT_RULE, segment.text);
    if (!isDecodable(segment.text))
      return faults.add(field, 'must be percent-encoded UTF-8, such as %C3%A4', segment.text);
  }
  return { segments };
}

function segmentOf(text: string): PathSegment {
  const name = OPEN.exec(text)?.[1];
  return name === undefined ? { kind: 'fixed', text } : { kind: 'open', name };
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** The names of its open segments. */
export function openNames({ segments }: PathTemplate): ReadonlySet<string> {
  return new Set(segments.flatMap((segment) => (segment.kind === 'open' ? [segment.name] : [])));
}

/** Fills in the values, or returns undefined with faults added: each names the value after the field. */
export function fillPath(
  template: PathTemplate,
  values: ReadonlyMap<string, string>,
  place: FaultPlace,
): string | undefined {
  const countBefore = place.faults.count;
  for (const name of openNames(template)) checkValue(values.get(name), name, place);
  if (place.faults.count > countBefore) return undefined;
  const texts = template.segments.map((segment) =>
    segment.kind === 'fixed' ? segment.text : encodeURIComponent(values.get(segment.name) ?? ''),
  );
  return `/${texts.join('/')}`;
}

function checkValue(value: string | undefined, name: string, place: FaultPlace): void {
  const { field, faults } = inside(place, name);
  if (value === undefined) faults.add(field, `is required by the segment ${quote(`{${name}}`)} of the path`);
  else if (value === '') faults.add(field, 'must not be empty: it is a segment of the path', value);
  else if (!value.isWellFormed()) faults.add(field, 'must not contain an unpaired surrogate', value);
}

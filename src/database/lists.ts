/** The posting lists of an alternative of a selector. */
import { encodeUtf8 } from '#base';
import type { Conjunction, TextMatch } from '#model';
import { HEAD_KIND, type HeadKind, type HeadName, NO_SUBJECT_HEAD } from './keys.ts';

/** All lists of a kind whose names have this prefix. */
export interface Prefix {
  readonly kind: HeadKind;
  readonly prefix: Uint8Array;
}

export interface Lists {
  /** Lists, each of which contains all the events of a conjunction… */
  readonly names: readonly HeadName[];
  /** …and prefixes, whose lists together contain them. */
  readonly prefixes: readonly Prefix[];
}

export function listsOf({ source, stream, type, subject }: Conjunction): Lists {
  const names: HeadName[] = [];
  const prefixes: Prefix[] = [];
  const add = (kind: HeadKind, match: TextMatch | undefined): void => {
    if (match?.kind === 'equals') names.push({ kind, term: encodeUtf8(match.value) });
    if (match?.kind === 'prefix') prefixes.push({ kind, prefix: encodeUtf8(match.value) });
  };
  // The list of a source is a subset of the list of its stream.
  if (source === undefined) add(HEAD_KIND.STREAM, stream);
  else names.push({ kind: HEAD_KIND.SOURCE, term: encodeUtf8(source) });
  add(HEAD_KIND.TYPE, type);
  if (subject?.kind === 'none') names.push(NO_SUBJECT_HEAD);
  else add(HEAD_KIND.SUBJECT, subject);
  return { names, prefixes };
}

/** The alternative without its prefixes: no event that it selects is later than the latest of these. */
export function equalitiesOf({ stream, type, subject, ...rest }: Conjunction): Conjunction {
  return {
    ...rest,
    ...(stream?.kind === 'equals' ? { stream } : {}),
    ...(type?.kind === 'equals' ? { type } : {}),
    ...(subject === undefined || subject.kind === 'prefix' ? {} : { subject }),
  };
}

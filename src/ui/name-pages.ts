/** Pages of lists of streams, subjects and event types. */
import { findNames, queryEvents } from './actions.ts';
import { contextLinks, counted, moreBehind, textIn } from './database-pages.ts';
import type { Description } from './description.ts';
import { type Attribute, attributePath, belowDatabase, pathAtRevision, type Scope } from './paths.ts';

const NOUNS: Readonly<Record<Attribute, string>> = {
  streams: 'stream',
  subjects: 'subject',
  'event-types': 'event type',
};

export interface ListedNames extends Scope {
  readonly names: readonly { readonly name: string }[];
}

export function namesPage(attribute: Attribute, reply: ListedNames, next: string | undefined): Description {
  const { databaseName, revision, names } = reply;
  const noun = NOUNS[attribute];
  const first = names[0]?.name;
  return {
    title: `${noun.charAt(0).toUpperCase()}${noun.slice(1)}s`,
    summary: `${counted(names.length, noun)} of the database ${databaseName} at revision ${revision}; ${moreBehind(next)}.`,
    links: {
      next,
      [`first_${noun.replace(' ', '_')}`]: first === undefined ? undefined : attributePath(reply, attribute, first),
      ...contextLinks(reply),
    },
    actions: [findNames(belowDatabase(reply, attribute), `${noun}s`), queryEvents(reply)],
    place: { databaseName, revision, pathAtRevision: pathAtRevision(belowDatabase(reply, attribute)) },
    rows: {
      linksOf: (row) => {
        const name = textIn(row, 'name');
        return { name: name === undefined ? undefined : attributePath(reply, attribute, name) };
      },
    },
  };
}

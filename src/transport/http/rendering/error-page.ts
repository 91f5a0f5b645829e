/** What is said of a request that failed, so that whoever sent it can go on. */
import type { DatabaseError } from '#base';
import type { Description } from './description.ts';
import { CATALOG_PATH, databasePath } from './paths.ts';

/** What may have become of a credential that counted before, whichever it was (U3). */
const ENDED = '. One that counted before has expired, or was replaced or revoked';

/** `databaseName` is that of the path, when there is one. */
export function errorPage({ message, details }: DatabaseError, databaseName: string | undefined): Description {
  const isKnown = databaseName !== undefined && details.scope !== undefined;
  return {
    title: 'That did not work',
    summary: `The request failed: ${message}${details.reason === 'CredentialRefused' ? ENDED : ''}`,
    links: {
      latest: isKnown ? databasePath({ databaseName, revision: 'latest' }) : undefined,
      databases: CATALOG_PATH,
    },
    actions: [],
  };
}

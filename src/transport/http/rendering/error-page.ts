/** What is said of a request that failed, so that whoever sent it can go on. */
import type { DatabaseError } from '#base';
import type { Description } from './description.ts';
import { CATALOG_PATH, databasePath } from './paths.ts';

/** What may have become of a credential that counted before, whichever it was (U3). */
const ENDED = '. One that counted before has expired, or was replaced or revoked';

/** What was asked for. */
export interface FailedRequest {
  /** That of the path, when there is one. */
  readonly databaseName?: string | undefined;
  /** Path and query, as they came. */
  readonly target: string;
}

export function errorPage(error: DatabaseError, { databaseName, target }: FailedRequest): Description {
  const { message, details } = error;
  // Of a segment that is no revision the message says where the latest is.
  const isMisplaced = details.violations?.some(({ field }) => field === 'revision') === true;
  const isKnown =
    databaseName !== undefined && (details.scope !== undefined || (isMisplaced && NAME.test(databaseName)));
  const early = tooEarly(error, target);
  const what = early === undefined ? 'The request failed' : `Revision ${early.revision} is not there yet`;
  return {
    title: 'That did not work',
    summary: `${what}: ${message}${details.reason === 'CredentialRefused' ? ENDED : ''}`,
    links: {
      ...(early && { [`revision_${early.latest}`]: early.path }),
      latest: isKnown ? databasePath({ databaseName, revision: 'latest' }) : undefined,
      databases: CATALOG_PATH,
    },
    actions: [],
  };
}

/** No more than what such a path is made of. */
const NAME = /^[a-z\d-]+$/;

/** The revision of the path or, on the page of a State View, of the query. */
const ASKED_REVISION = /^(\/db\/[^/?]+\/(?:state-views\/[^?]*\?(?:[^&]*&)*?revision=)?)(\d+)(?=[/?&]|$)/;

interface TooEarly {
  readonly revision: string;
  readonly latest: number;
  /** Of the same page at the latest. */
  readonly path: string;
}

/** Of a page at a revision that the database has not come to: whoever goes along the revisions gets there. */
function tooEarly({ details: { reason, scope } }: DatabaseError, target: string): TooEarly | undefined {
  const [, , revision] = ASKED_REVISION.exec(target) ?? [];
  if (reason !== 'RevisionNotFound' || scope === undefined || revision === undefined) return undefined;
  const latest = scope.revision;
  if (BigInt(revision) <= latest) return undefined;
  return { revision, latest, path: target.replace(ASKED_REVISION, `$1${latest}`) };
}

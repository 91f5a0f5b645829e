/** Page of a request that failed. It links to where the reader can continue. */
import type { DatabaseError } from '#base';
import type { Description } from './description.ts';
import { CATALOG_PATH, databasePath } from './paths.ts';

/** Possible reasons why a credential is no longer valid. The same for every credential (U3). */
const ENDED = '. One that counted before has expired, or was replaced or revoked';

export interface FailedRequest {
  /** Database of the path, if it has one. */
  readonly databaseName?: string | undefined;
  /** Path and query as received. */
  readonly target: string;
}

export function errorPage(error: DatabaseError, { databaseName, target }: FailedRequest): Description {
  const { message, details } = error;
  // When a segment is not a revision, the database may exist: link to its latest revision.
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

/** Characters that the path of a database may contain. */
const NAME = /^[a-z\d-]+$/;

/** The revision in the path or, on the page of a State View, in the query. */
const ASKED_REVISION = /^(\/db\/[^/?]+\/(?:state-views\/[^?]*\?(?:[^&]*&)*?revision=)?)(\d+)(?=[/?&]|$)/;

/**
 * Set when the requested revision is above the latest one: the link "later" leads there. `path` is the same page at
 * the latest revision.
 */
function tooEarly({ details: { reason, scope } }: DatabaseError, target: string) {
  const [, , revision] = ASKED_REVISION.exec(target) ?? [];
  if (reason !== 'RevisionNotFound' || scope === undefined || revision === undefined) return undefined;
  const latest = scope.revision;
  if (BigInt(revision) <= latest) return undefined;
  return { revision, latest, path: target.replace(ASKED_REVISION, `$1${latest}`) };
}

/** What the service refuses, and how it says so: the value that was found, and what would be right. */
import { DatabaseError, type ErrorScope, quote } from '#base';
import type { ReadScope } from './operations.ts';

/** The reason of both errors that follow. */
export const DATABASE_NOT_FOUND = 'DatabaseNotFound';

export function databaseNotFound(name: string): DatabaseError {
  return new DatabaseError(
    'not_found',
    `There is no database ${quote(name)}; create it, or use a name that the catalog lists`,
    {
      details: { reason: DATABASE_NOT_FOUND },
    },
  );
}

/** The instance that a request was working on is gone; another one may have its name. */
export function databaseDeleted(name: string): DatabaseError {
  return new DatabaseError('not_found', `The database ${quote(name)} was deleted`, {
    details: { reason: DATABASE_NOT_FOUND },
  });
}

/** The copy that was read on this node has ended, and another one begins here: the database lives on. */
export function copyBegunAnew(name: string): DatabaseError {
  const message = `A copy of the database ${quote(name)} begins on this node, for the database moves; send again`;
  return new DatabaseError('unavailable', message, { details: { reason: 'CopyMoved' } });
}

export function databaseExists(name: string): DatabaseError {
  return new DatabaseError('already_exists', `There is already a database ${quote(name)}; take another name`);
}

export function revisionNotFound(scope: ReadScope, revision: number | bigint): DatabaseError {
  const message = `The database ${quote(scope.databaseName)} has no revision ${revision}; its latest is ${scope.revision}`;
  return new DatabaseError('not_found', message, { details: { reason: 'RevisionNotFound', scope: where(scope) } });
}

/** The database, read at the revision of the scope, does not reach the one that was asked for. */
export function revisionNotYet(scope: ReadScope, revision: number | bigint): DatabaseError {
  const message = `The database ${quote(scope.databaseName)} at revision ${scope.revision} has no revision ${revision}; read at that revision or later`;
  return new DatabaseError('not_found', message, { details: { reason: 'RevisionNotFound', scope: where(scope) } });
}

export function transactionNotFound(scope: ReadScope, transactionId: string): DatabaseError {
  const message = `The database ${quote(scope.databaseName)} has no transaction ${transactionId}`;
  return new DatabaseError('not_found', message, { details: { reason: 'TransactionNotFound', scope: where(scope) } });
}

export function eventNotFound(scope: ReadScope, what: string): DatabaseError {
  const message = `The database ${quote(scope.databaseName)} has no event ${what}`;
  return new DatabaseError('not_found', message, { details: { reason: 'EventNotFound', scope: where(scope) } });
}

export function tooManyStreams(what: 'streaming reads' | 'live tails', countMax: number): DatabaseError {
  const message = `${countMax} ${what} are open on this node, which is the most it serves; ask another node, or repeat after a pause`;
  return new DatabaseError('busy', message);
}

export function notYetCreated(scope: ReadScope, at: string, createdAt: string): DatabaseError {
  const message = `The database ${quote(scope.databaseName)} did not exist at ${at}; it was created at ${createdAt}`;
  return new DatabaseError('not_found', message, { details: { reason: 'RevisionNotFound', scope: where(scope) } });
}

function where({ databaseId, revision }: ReadScope): ErrorScope {
  return { databaseId, revision };
}

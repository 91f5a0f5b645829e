/** What the service refuses, and how it says so: the value that was found, and what would be right. */
import { DatabaseError, type Revision } from '#base';

export function databaseNotFound(name: string): DatabaseError {
  return new DatabaseError('not_found', `There is no database ${JSON.stringify(name)}`, {
    details: { reason: 'DatabaseNotFound' },
  });
}

/** The instance that a request was working on is gone; another one may have its name. */
export function databaseDeleted(name: string): DatabaseError {
  return new DatabaseError('not_found', `The database ${JSON.stringify(name)} was deleted`, {
    details: { reason: 'DatabaseNotFound' },
  });
}

export function databaseExists(name: string): DatabaseError {
  return new DatabaseError('already_exists', `There is already a database ${JSON.stringify(name)}; take another name`);
}

export function revisionNotFound(name: string, revision: number, latest: Revision): DatabaseError {
  const message = `The database ${JSON.stringify(name)} has no revision ${revision}; its latest is ${latest}`;
  return new DatabaseError('not_found', message, { details: { reason: 'RevisionNotFound' } });
}

export function transactionNotFound(name: string, transactionId: string): DatabaseError {
  const message = `The database ${JSON.stringify(name)} has no transaction ${transactionId}`;
  return new DatabaseError('not_found', message, { details: { reason: 'TransactionNotFound' } });
}

export function eventNotFound(name: string, what: string): DatabaseError {
  const message = `The database ${JSON.stringify(name)} has no event ${what}`;
  return new DatabaseError('not_found', message, { details: { reason: 'EventNotFound' } });
}

export function tooManyStreams(countMax: number): DatabaseError {
  return new DatabaseError('busy', `${countMax} streaming reads are open on this node, which is the most it serves`);
}

export function notYetCreated(name: string, at: string, createdAt: string): DatabaseError {
  const message = `The database ${JSON.stringify(name)} did not exist at ${at}; it was created at ${createdAt}`;
  return new DatabaseError('not_found', message, { details: { reason: 'RevisionNotFound' } });
}

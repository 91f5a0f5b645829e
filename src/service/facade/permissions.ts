/**
 * The table of rights by operation. Every transport calls the service of a principal (guard.ts), so none can bypass the
 * check. docs/security.md shows the table with the calls and routes of each row.
 */
import type { Right } from '#model';
import type { Service } from './service.ts';

/** Members of the service that are not operations of clients: they describe the node or run in its background. */
type OfTheNode = 'health' | 'keepViews' | 'compileAhead' | 'leader' | 'elsewhere' | 'shown' | 'show';

export type Operation = Exclude<keyof Service, OfTheNode>;

/** Right that an operation needs on its database; for a list, on each listed database. */
export const PERMISSIONS: Readonly<Record<Operation, Right>> = {
  createDatabase: 'administer',
  deleteDatabase: 'administer',
  listDatabases: 'read',
  databaseAt: 'read',
  databaseAtTimestamp: 'read',
  awaitDatabase: 'read',
  transact: 'write',
  fetchTransaction: 'read',
  queryEvents: 'read',
  scanLog: 'read',
  scanLogBatches: 'read',
  subscribe: 'read',
  listStreams: 'read',
  listSubjects: 'read',
  listEventTypes: 'read',
  singleEvent: 'read',
  publishComponent: 'deploy',
  setVersionStatus: 'deploy',
  deleteVersions: 'deploy',
  expireSnapshots: 'deploy',
  findVersion: 'read',
  listVersions: 'read',
  executeCommand: 'write',
  // It runs code of the database on its data, and shows the decision.
  decideCommand: 'write',
  openStateView: 'read',
  issueApiKey: 'administer',
  listApiKeys: 'administer',
  findApiKey: 'administer',
  rotateApiKey: 'administer',
  revokeApiKey: 'administer',
  issueToken: 'read',
  listTokens: 'read',
  findToken: 'read',
  revokeToken: 'read',
  // It shows the names of all databases, and the addresses of nodes.
  describeCluster: 'administer',
  administerCluster: 'administer',
};

type WithoutDatabase = {
  [Name in Operation]: Parameters<Service[Name]>[0] extends { readonly databaseName: string } ? never : Name;
}[Operation];

/**
 * Where an operation without a database needs its right. It needs the right to administer on all current and future
 * databases, because a key may grant any right. A token grants at most the rights of its issuer (V21), so any right on
 * any database is enough to issue one.
 */
export const SCOPES: Readonly<Record<WithoutDatabase, 'all databases' | 'any database'>> = {
  listDatabases: 'any database',
  issueApiKey: 'all databases',
  listApiKeys: 'all databases',
  findApiKey: 'all databases',
  rotateApiKey: 'all databases',
  revokeApiKey: 'all databases',
  issueToken: 'any database',
  listTokens: 'any database',
  findToken: 'any database',
  revokeToken: 'any database',
  describeCluster: 'all databases',
  administerCluster: 'all databases',
};

export function isWithoutDatabase(operation: Operation): operation is WithoutDatabase {
  return operation in SCOPES;
}

const isOperation = (name: string): name is Operation => name in PERMISSIONS;

export const OPERATIONS: readonly Operation[] = Object.keys(PERMISSIONS).filter(isOperation);

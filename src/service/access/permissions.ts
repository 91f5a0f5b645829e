/**
 * Who may do what: the one table, by operations. Every transport asks the service of a principal (guard.ts), so none of
 * them can forget to look here; docs/security.md shows the table with the calls and routes that lead to each row.
 */
import type { Right } from '#model';
import type { Service } from '../service-interface.ts';

/** Members of the service that are not operations of clients: they describe the node or run in its background. */
type OfTheNode = 'health' | 'keepViews' | 'compileAhead' | 'leader' | 'elsewhere' | 'shown' | 'show';

export type Operation = Exclude<keyof Service, OfTheNode>;

/**
 * The right that it needs on the database that it names; of a list, on each that is listed. What names none, such as a
 * key, needs it on all that there are or will be: a key may give any right. A token gives those of its issuer at most
 * (V21), so that whoever has any on any database may issue one.
 */
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
  // It runs code of the database on what it holds, and shows what that decides.
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
  // It names all databases, and where nodes are reached.
  describeCluster: 'administer',
  administerCluster: 'administer',
};

const isOperation = (name: string): name is Operation => name in PERMISSIONS;

export const OPERATIONS: readonly Operation[] = Object.keys(PERMISSIONS).filter(isOperation);

// The permissions of each role according to ADR 0126, written independently of the product, so that tests find
// differences. Readers read data, writers commit, deployers publish components, and only administrators create and
// delete databases, grant permissions and see the whole cluster.
import type { Operation } from '../../src/service/facade/permissions.ts';

export type RoleName = 'reader' | 'writer' | 'deployer' | 'admin';

interface Allowed {
  /** The missing right that a refusal names. */
  readonly right: string;
  readonly roles: readonly RoleName[];
}

export const ROLE_NAMES: readonly RoleName[] = ['reader', 'writer', 'deployer', 'admin'];

const READING: Allowed = { right: 'read', roles: ROLE_NAMES };
const WRITING: Allowed = { right: 'write', roles: ['writer', 'admin'] };
const DEPLOYING: Allowed = { right: 'deploy', roles: ['deployer', 'admin'] };
const ADMINISTERING: Allowed = { right: 'administer', roles: ['admin'] };

export const ROLE_TABLE: Readonly<Record<Operation, Allowed>> = {
  listDatabases: READING,
  databaseAt: READING,
  databaseAtTimestamp: READING,
  awaitDatabase: READING,
  fetchTransaction: READING,
  queryEvents: READING,
  scanLog: READING,
  scanLogBatches: READING,
  subscribe: READING,
  listStreams: READING,
  listSubjects: READING,
  listEventTypes: READING,
  singleEvent: READING,
  findVersion: READING,
  listVersions: READING,
  openStateView: READING,
  transact: WRITING,
  executeCommand: WRITING,
  decideCommand: WRITING,
  publishComponent: DEPLOYING,
  setVersionStatus: DEPLOYING,
  deleteVersions: DEPLOYING,
  expireSnapshots: DEPLOYING,
  createDatabase: ADMINISTERING,
  deleteDatabase: ADMINISTERING,
  issueApiKey: ADMINISTERING,
  listApiKeys: ADMINISTERING,
  findApiKey: ADMINISTERING,
  rotateApiKey: ADMINISTERING,
  revokeApiKey: ADMINISTERING,
  describeCluster: ADMINISTERING,
  administerCluster: ADMINISTERING,
  // A token grants no more than its issuer has.
  issueToken: READING,
  listTokens: READING,
  findToken: READING,
  revokeToken: READING,
};

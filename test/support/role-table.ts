// Who may do what, as it was decided (ADR 0126): written once more, so that a row of the product that says otherwise is
// a fault. Readers see what is stored, writers commit, deployers say which code folds and decides, and administrators
// alone make and delete databases, give rights and see the whole cluster.
import type { Operation } from '../../src/service/facade/permissions.ts';

export type RoleName = 'reader' | 'writer' | 'deployer' | 'admin';

interface Allowed {
  /** What a refusal says that somebody lacks. */
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
  // Tokens give no more than their issuer has.
  issueToken: READING,
  listTokens: READING,
  findToken: READING,
  revokeToken: READING,
};

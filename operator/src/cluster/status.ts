/** The status of a CairnCluster: a pure function of the world and of the outcome of the last pass. */
import type { CairnCluster, CairnClusterCondition, CairnClusterStatus } from '../api/index.ts';
import type { SecretsState } from '../certificates/index.ts';
import { failedWith, type NodeOrder, serviceAddress } from '../client/index.ts';
import { defined, type Finding, type Outcome } from '../kube/index.ts';
import { POOLS, PORTS, selectorLabels, serviceHost } from '../objects/index.ts';
import { commonStatus } from '../reconcile/index.ts';
import type { Action } from './actions.ts';
import { bytesOf, isReady } from './kinds.ts';
import { isBelowFinal, isUniform, levelToRaise } from './rules/finalize.ts';
import { recoveryIDOf } from './rules/recovery.ts';
import { fullMembersOf } from './rules/storage.ts';
import { storageSize, wantedOf } from './wanted.ts';
import {
  ailmentAmong,
  isOutdated,
  isReleased,
  isStopped,
  lostVotersOf,
  type Member,
  membersOf,
  nodesOf,
  podsIn,
  replicasOf,
  type World,
  wantedIn,
} from './world.ts';

export function statusOf(world: World, outcome: Outcome<Action>, secrets: SecretsState): CairnClusterStatus {
  const { cluster, description, nowMs } = world;
  const clusterID = description?.clusterID ?? cluster.status?.clusterID;
  const version = oldestRelease(world) ?? cluster.status?.version;
  const { finalVersion, finalLevel, recoveryStage, recoverySurvivor } = cluster.status ?? {};
  const { tls, ...names } = secrets;
  const [pods, learners] = [podsIn(world, 'voters'), podsIn(world, 'learners')];
  return {
    ...commonStatus(cluster, findingsOf(world, outcome, tls), nowMs),
    replicas: pods.length,
    readyReplicas: pods.filter(isReady).length,
    learners: learners.length,
    readyLearners: learners.filter(isReady).length,
    selector: selectorOf(cluster),
    targetVersion: cluster.spec.version,
    members: membersOf(world).map((member) => memberStatus(member, cluster)),
    endpoints: endpointsOf(cluster),
    storageSize: storageSize(world),
    // Facts that actions have recorded.
    ...defined({ finalVersion, finalLevel, recoveryStage, recoverySurvivor }),
    ...defined({ version, clusterID, recoveryID: recoveryIDOf(world), ...names }),
  };
}

function findingsOf(
  world: World,
  outcome: Outcome<Action>,
  tls: Finding,
): Readonly<Record<CairnClusterCondition, Finding>> {
  const parts = {
    Ready: readiness(world),
    QuorumHealthy: quorum(world),
    Progressing: progress(outcome),
    VersionUniform: uniformity(world),
    TLSReady: tls,
    StorageHealthy: storage(world),
    ComponentsSynced: components(world),
    ConfigurationApplied: configuration(world),
    Quiesced: quiescence(outcome),
  };
  const { Ready, ConfigurationApplied, VersionUniform, Quiesced } = parts;
  const [missing] = Object.entries({ Ready, ConfigurationApplied, VersionUniform, Quiesced }).filter(
    ([, [status]]) => status !== 'True',
  );
  const Stable = missing === undefined ? yes('Stable') : no(`Not${missing[0]}`, missing[1][2]);
  return { ...parts, Stable };
}

/** Lost nodes, volumes that fill, and the time of a finalization give no message of a watch. */
export function recheckMs(world: World): number {
  const isInService = [readiness(world), storage(world)].every(([status]) => status === 'True');
  return isInService ? 30_000 : 5_000;
}

const yes = (reason: string, message = ''): Finding => ['True', reason, message];
const no = (reason: string, message: string): Finding => ['False', reason, message];
const unknown = (reason: string, message: string): Finding => ['Unknown', reason, message];
const unreachable = ({ refusal }: World): Finding =>
  unknown('ClusterUnreachable', refusal === undefined ? 'no node answers the admin API' : `a node refuses: ${refusal}`);

function readiness(world: World): Finding {
  const { cluster, description } = world;
  if (isStopped(cluster)) return no('Recovering', 'all nodes are stopped for spec.recovery: Progressing has its state');
  const ailment = ailmentAmong(membersOf(world), world);
  if (description === undefined && cluster.status?.clusterID === undefined) {
    return no('Installing', ailment ?? 'the nodes are not started yet');
  }
  if (ailment !== undefined) return no('NodesNotReady', ailment);
  for (const pool of POOLS) {
    const found = replicasOf(world, pool) ?? 0;
    if (found !== wantedIn(world, pool)) return no('Scaling', `there are ${found} pods of ${pool}`);
  }
  const [status, reason, message] = quorum(world);
  return status === 'True' ? yes('AllNodesReady') : no(reason, message);
}

function quorum(world: World): Finding {
  const { description } = world;
  const without = (reason: string, message: string): Finding => no(reason, `${message}${usedRecovery(world)}`);
  if (description === undefined) return unreachable(world);
  if (!description.isConfirmed) return without('NoCatalogLeader', 'the catalog has no leader that answers');
  const lost = lostVotersOf(world).map(({ id, name }) => `${id} (${name})`);
  if (lost.length > 0) return without('NoQuorum', `these voters do not answer: ${lost.join(', ')}`);
  const headless = description.databases.filter(({ leader }) => leader === undefined).map(({ name }) => name);
  if (headless.length === 0) return yes('Quorum');
  const more = headless.length > 3 ? `, and ${headless.length - 3} more` : '';
  return without('DatabasesWithoutLeader', `these databases have no leader: ${headless.slice(0, 3).join(', ')}${more}`);
}

/** Why spec.recovery does not act, for a cluster that has lost a quorum. */
function usedRecovery({ cluster: { spec, status } }: World): string {
  const { id } = spec.recovery ?? {};
  if (id === undefined || id !== status?.recoveryID) return '';
  return `; spec.recovery.id is ${id}, which was carried out: set another id to recover`;
}

function progress({ plan, failure }: Outcome<Action>): Finding {
  const [next] = plan;
  if (failure !== undefined) {
    return no(failedWith(failure, 'FAILED_PRECONDITION') ? 'Refused' : 'Failed', failure.message);
  }
  if (next === undefined) return no('Converged', '');
  return yes(...textOf(next));
}

function quiescence({ plan, failure }: Outcome<Action>): Finding {
  if (failure !== undefined) return no('Failed', failure.message);
  return plan.length === 0 ? yes('Quiesced') : no('Acting', 'the operator is changing something, or waits to');
}

/** Reason and note of an action, for conditions and events. */
export function textOf(action: Action): readonly [reason: string, note: string] {
  switch (action.kind) {
    case 'apply':
      return ['Applying', `applies ${action.object.kind} ${action.object.metadata.name}`];
    case 'patch':
      return ['Marking', `changes ${action.of.kind} ${action.object.metadata.name}`];
    case 'record':
      return [action.status.recoveryID === undefined ? 'Recording' : 'RecoveryDone', action.why];
    case 'delete':
      return ['Deleting', `deletes ${action.of.kind} ${action.object.metadata.name}: ${action.why}`];
    case 'recover':
      return [
        'Recovering',
        `recovers database ${action.database} with the data of node ${action.node} (${action.name})`,
      ];
    case 'refound':
      return ['Recovering', `runs cairn recover in the pod ${action.object.metadata.name}`];
    case 'finalize':
      return ['Finalizing', 'finalizes the upgrade'];
    case 'wait':
      return [action.reason, action.message];
    case 'drain':
    case 'undrain':
    case 'decommission':
    case 'recommission':
      return [ORDERS[action.kind], `${action.kind} of node ${action.node} (${action.name})`];
  }
}

const ORDERS: Readonly<Record<NodeOrder, string>> = {
  drain: 'Draining',
  undrain: 'Undraining',
  decommission: 'Decommissioning',
  recommission: 'Recommissioning',
};

function uniformity(world: World): Finding {
  const { cluster, description } = world;
  const { version } = cluster.spec;
  if (description === undefined) return unreachable(world);
  const other = nodesOf(world).find((node) => node.release !== version);
  if (other !== undefined) {
    const runs = other.release === undefined ? 'does not answer' : `runs ${other.release}`;
    return no('Upgrading', `node ${other.id} (${other.name}) ${runs}`);
  }
  if (!isUniform(world)) return no('Upgrading', 'not all nodes are in service');
  if (levelToRaise(world) === undefined) return yes('Uniform');
  return no('NotFinal', 'all nodes run the release; a rollback is possible until the upgrade is finalized');
}

function storage(world: World): Finding {
  const size = storageSize(world);
  const claims = world.claims.filter((claim) => !isReleased(claim));
  if (claims.length === 0) return unknown('NoVolumes', 'there are no volumes yet');
  const small = claims.find(
    ({ status }) => status?.phase !== 'Bound' || bytesOf(status.capacity?.storage) < bytesOf(size),
  );
  if (small !== undefined) return no('Growing', `claim ${small.metadata.name} does not have ${size} yet`);
  const [full] = fullMembersOf(world);
  return full === undefined ? yes('Healthy') : no('NearlyFull', `the volume of ${full.name} is nearly full`);
}

function components(world: World): Finding {
  const { description } = world;
  if (description === undefined) return unreachable(world);
  const node = description.nodes.find(({ refused }) => refused.length > 0);
  if (node === undefined) return yes('Synced');
  return no('ComponentsRefused', `node ${node.id} (${node.name}) cannot run ${node.refused.slice(0, 3).join(', ')}`);
}

function configuration(world: World): Finding {
  const { objects, hashes } = wantedOf(world);
  const { strategy, paused } = world.cluster.spec.update;
  const object = objects.find((each) => !world.isApplied(each));
  if (object !== undefined) return no('Applying', `${object.kind} ${object.metadata.name} is not applied yet`);
  const names = membersOf(world).filter((member) => isOutdated(member, hashes));
  if (names.length === 0) return yes('Applied');
  const message = `these pods run with an earlier configuration: ${names.map(({ name }) => name).join(', ')}`;
  if (isBelowFinal(world))
    return no('RollbackImpossible', `the upgrade is final, so spec.version must not be lower; ${message}`);
  if (strategy === 'OnDelete') return no('WaitsForDeletion', message);
  return no(paused ? 'Paused' : 'Rolling', message);
}

function oldestRelease(world: World): string | undefined {
  const releases = nodesOf(world).flatMap(({ release }) => release ?? []);
  return releases.toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }))[0];
}

/** Keeps the last known values of a node that does not answer. */
function memberStatus(
  { name, pod, node }: Member,
  { status }: CairnCluster,
): NonNullable<CairnClusterStatus['members']>[number] {
  const before = status?.members?.find((member) => member.name === name);
  const id = node?.id ?? before?.id;
  const version = node?.release ?? before?.version;
  const zone = node?.zone ?? before?.zone;
  const role = node === undefined ? before?.role : ROLES[node.role];
  return { name, ready: isReady(pod), ...defined({ id, role, version, zone: zone === '' ? undefined : zone }) };
}

const ROLES = { voter: 'Voter', learner: 'Learner', none: 'None' } as const;

function selectorOf(cluster: CairnCluster): string {
  return Object.entries(selectorLabels(cluster))
    .map(([label, value]) => `${label}=${value}`)
    .join();
}

function endpointsOf(cluster: CairnCluster): NonNullable<CairnClusterStatus['endpoints']> {
  const { tls, network } = cluster.spec;
  const url = (port: 'http' | 'mcp'): string =>
    `${tls.disabled ? 'http' : 'https'}://${serviceHost(cluster)}:${PORTS[port]}`;
  return { grpc: serviceAddress(cluster), http: url('http'), ...(network.mcp && { mcp: url('mcp') }) };
}

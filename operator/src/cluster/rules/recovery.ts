/** The rule for databases that have lost their quorum. It applies only when spec.recovery accepts the loss of data. */
import { type Action, wait } from '../actions.ts';
import { lostVotersOf, type World } from '../world.ts';

/** KC9. refounding.ts has the rules for a catalog without a quorum. */
export function recovery(world: World): readonly Action[] | undefined {
  const { cluster, description } = world;
  const { recovery: wanted } = cluster.spec;
  if (wanted === undefined || cluster.status?.recoveryID === wanted.id || description?.isConfirmed !== true) {
    return undefined;
  }
  const leaderless = description.databases.filter(({ leader }) => leader === undefined);
  if (leaderless.length === 0) return undefined;
  // There may be no StatefulSet at the moment, so the node is not looked for among its members.
  const node = description.nodes.findLast(({ name }) => name === wanted.survivor);
  if (node?.answers !== true) {
    return wait('RecoveryWaits', `the node of pod ${wanted.survivor} does not answer`);
  }
  const lost = leaderless.find(({ nodes }) => nodes.includes(node.id));
  return lost && [{ kind: 'recover', database: lost.name, node: node.id, name: node.name }];
}

/**
 * The id of the last recovery that was carried out. An id counts as carried out when nothing is lost. A leader of the
 * catalog that has just lost the others still confirms its description, so a majority of the voters must answer.
 */
export function recoveryIDOf(world: World): string | undefined {
  const { spec, status } = world.cluster;
  const isDone =
    world.description?.isConfirmed === true && lostVotersOf(world).length === 0 && recovery(world) === undefined;
  return (isDone ? spec.recovery?.id : undefined) ?? status?.recoveryID;
}

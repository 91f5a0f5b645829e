/** The rule for databases that have lost their quorum. It applies only when spec.recovery accepts the loss of data. */
import { type Action, wait } from '../actions.ts';
import { type Member, membersOf, type World } from '../world.ts';

/** KC9. A catalog without a quorum is recovered by hand (docs/operations/recovery.md). */
export function recovery(world: World): readonly Action[] | undefined {
  const { cluster, description } = world;
  const { recovery: wanted } = cluster.spec;
  if (wanted === undefined || cluster.status?.recoveryID === wanted.id || description?.isConfirmed !== true) {
    return undefined;
  }
  const { node, name } = survivorOf(world) ?? {};
  if (node?.answers !== true || name === undefined) {
    return wait('RecoveryWaits', `the node of pod ${wanted.survivor} does not answer`);
  }
  const lost = description.databases.find(({ leader, nodes }) => leader === undefined && nodes.includes(node.id));
  return lost && [{ kind: 'recover', database: lost.name, node: node.id, name }];
}

/** The id of the recovery that was carried out last. */
export function recoveryIDOf(world: World): string | undefined {
  const { cluster, description } = world;
  const { recovery: wanted } = cluster.spec;
  const isDone = wanted !== undefined && description?.isConfirmed === true && recovery(world) === undefined;
  return isDone ? wanted.id : cluster.status?.recoveryID;
}

function survivorOf(world: World): Member | undefined {
  return membersOf(world).find(({ name }) => name === world.cluster.spec.recovery?.survivor);
}

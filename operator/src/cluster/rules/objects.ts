/** Rules for the owned objects: they are as the spec says. */
import { type Pool, setName } from '../../objects/index.ts';
import type { Action } from '../actions.ts';
import { isTerminating } from '../kinds.ts';
import { wantedOf } from '../wanted.ts';
import type { WantedObject, World } from '../world.ts';

/** Applies the objects of a pool that differ, in the order in which its pods need them. */
export function install(world: World, pool: Pool): readonly Action[] {
  return changesOf(partOf(world, pool), world);
}

/** Applies the other objects: no pod waits for one, so an API server that refuses it stops nothing else. */
export function installRest(world: World): readonly Action[] {
  return changesOf(partOf(world, undefined), world);
}

function partOf(world: World, pool: Pool | undefined): readonly WantedObject[] {
  const { objects } = wantedOf(world);
  const last = objects.findLastIndex(({ kind }) => kind === 'StatefulSet');
  const learners = setName(world.cluster, 'learners');
  const poolAt = (at: number): Pool => (objects[at]?.metadata.name === learners ? 'learners' : 'voters');
  return objects.filter((_, at) => pool === (at > last ? undefined : poolAt(at)));
}

/** Applies those objects that differ. An object that is being deleted is created again later. */
export function changesOf(wanted: readonly WantedObject[], world: World): readonly Action[] {
  const found = new Map(world.owned.map((object) => [keyOf(object), object]));
  return wanted.flatMap((object): readonly Action[] => {
    const live = found.get(keyOf(object));
    if (world.isApplied(object) || (live !== undefined && isTerminating(live))) return [];
    return [{ kind: 'apply', object, uid: live?.metadata.uid }];
  });
}

/** Deletes owned objects that the spec no longer wants, such as the routes of a Gateway. */
export function unwanted(world: World): readonly Action[] | undefined {
  const wanted = new Set(wantedOf(world).objects.map(keyOf));
  const object = world.owned.find((each) => !wanted.has(keyOf(each)) && !isTerminating(each));
  if (object === undefined) return undefined;
  return [{ kind: 'delete', of: object.of, object, why: 'the spec no longer wants it' }];
}

function keyOf({ kind, metadata }: Pick<WantedObject, 'kind' | 'metadata'>): string {
  return `${kind}/${metadata.name}`;
}

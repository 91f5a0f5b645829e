/** Rules for the owned objects: they are as the spec says. */
import type { Action } from '../actions.ts';
import { isTerminating } from '../kinds.ts';
import { wantedOf } from '../wanted.ts';
import type { WantedObject, World } from '../world.ts';

/** Applies the objects that differ, in the order in which pods need them. */
export function install(world: World): readonly Action[] | undefined {
  return changesOf(wantedOf(world).objects, world);
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

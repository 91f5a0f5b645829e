/**
 * Remembers what was applied, so that an object is applied again only when it should change or was changed by others.
 *
 * The API server fills in defaults and rewrites quantities, so an object that was applied does not equal the wanted
 * one. Its version tells whether it changed. A new operator applies everything once, which changes nothing and restarts
 * no pod.
 */
import { type KubeObject, sha256Of } from '../kube/index.ts';
import type { WantedObject } from './world.ts';

export class Applied {
  readonly #entries = new Map<string, { hash: string; uid: string; version: string }>();

  note(object: WantedObject, result: KubeObject): void {
    const { uid } = result.metadata;
    this.#entries.set(keyOf(object), { hash: sha256Of(JSON.stringify(object)), uid, version: versionOf(result) });
  }

  isApplied(object: WantedObject, found: readonly (KubeObject & { readonly kind: string })[]): boolean {
    const entry = this.#entries.get(keyOf(object));
    const { name } = object.metadata;
    const live = found.find(({ kind, metadata }) => kind === object.kind && metadata.name === name);
    if (entry === undefined || live === undefined || entry.uid !== live.metadata.uid) return false;
    // A cache that lags behind has a lower version than the answer to the apply.
    return entry.hash === sha256Of(JSON.stringify(object)) && Number(versionOf(live)) <= Number(entry.version);
  }
}

/** The generation, which changes of the status leave as it is; kinds without one have no status. */
function versionOf({ metadata: { generation, resourceVersion } }: KubeObject): string {
  return generation === undefined ? resourceVersion : String(generation);
}

function keyOf({ kind, metadata: { namespace = '', name } }: WantedObject): string {
  return `${kind}/${namespace}/${name}`;
}

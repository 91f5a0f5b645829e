/**
 * Server-side apply: a field manager sends the fields that it wants.
 *
 * Invariants:
 *   KM15  An apply takes over fields of other managers, and removes those that its manager no longer sends.
 *   KM16  A status is written only when it differs from the observed one. An unchanged status costs no request and
 *         causes no message of a watch.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Api } from './api.ts';
import { parseJson, unless } from './api-error.ts';
import { type Kind, type KubeObject, type Place, pathOf, typeOf } from './objects.ts';

/** The fields that a manager owns of an object, and no others. */
export interface Wanted {
  readonly metadata: Place & { readonly name: string };
  readonly [field: string]: unknown;
}

/** Creates or changes an object, and returns it. A controller has a `manager`, and another one for its status. */
export function apply<Item extends KubeObject>(api: Api, kind: Kind, wanted: Wanted, manager: string): Promise<Item> {
  return api.patch(`${pathOf(kind, wanted.metadata)}?${query(manager)}`, { ...typeOf(kind), ...wanted }, 'apply');
}

export interface StatusWrite {
  readonly kind: Kind;
  readonly object: KubeObject;
  readonly status: object;
  readonly manager: string;
}

/**
 * Replaces the whole status. Fails with 409 when the object is no longer at the observed version: a copy that lags
 * behind would remove newer facts.
 */
export function writeStatus<Item>(api: Api, { kind, object, status, manager }: StatusWrite): Promise<Item> {
  const { namespace, name, resourceVersion } = object.metadata;
  const body = { ...typeOf(kind), metadata: { namespace, name, resourceVersion }, status };
  return api.patch(`${pathOf(kind, { namespace, name })}/status?${query(manager)}`, body, 'apply');
}

/**
 * Writes a status that differs from the observed one. Returns whether it wrote; when the object has changed it did not,
 * and its newer version brings another pass.
 */
export async function applyStatus(api: Api, write: StatusWrite): Promise<boolean> {
  // JSON drops undefined fields, as the server does.
  const wanted: object = parseJson(JSON.stringify(write.status));
  if (isDeepStrictEqual(wanted, write.object.status)) return false;
  return (await writeStatus(api, write).catch(unless(404, 409))) !== undefined;
}

function query(manager: string): string {
  return String(new URLSearchParams({ fieldManager: manager, force: 'true' }));
}

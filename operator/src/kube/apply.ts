/**
 * Server-side apply: a field manager sends the fields that it wants. The server removes those that it no longer sends.
 *
 * Invariants:
 *   KM15  Fields of other managers are overwritten only with `force`. Without it the error names their managers
 *         (`ApiError.conflicts`).
 *   KM16  A status is written only when it differs from the observed one. An unchanged status costs no request and
 *         causes no message of a watch.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Api } from './api.ts';
import { unless } from './api-error.ts';
import { parseJson } from './json.ts';
import { type Kind, type KubeObject, type Place, pathOf, typeOf } from './objects.ts';

export interface Owner {
  /** Name of the field manager: one for each controller, and another one for its status. */
  readonly manager: string;
  readonly force?: boolean;
}

/** The fields that a manager owns of an object, and no others. */
export interface Wanted {
  readonly metadata: Place & { readonly name: string };
  readonly [field: string]: unknown;
}

/** Creates or changes an object, and returns it. */
export function apply<Item extends KubeObject>(api: Api, kind: Kind, wanted: Wanted, owner: Owner): Promise<Item> {
  return api.patch(`${pathOf(kind, wanted.metadata)}?${query(owner)}`, { ...typeOf(kind), ...wanted }, 'apply');
}

/** The observed object, with which `applyStatus` compares. */
export interface WithStatus extends KubeObject {
  readonly status?: object;
}

/**
 * Writes the fields of `status` when one of them differs, and the object is still at the observed version: a copy that
 * lags behind would remove newer facts. Returns whether it wrote.
 */
export async function applyStatus(
  api: Api,
  { kind, object }: { readonly kind: Kind; readonly object: WithStatus },
  status: object,
  { manager }: Owner,
): Promise<boolean> {
  // JSON drops undefined fields, as the server does.
  const wanted: Readonly<Record<string, unknown>> = parseJson(JSON.stringify(status));
  const found = new Map<string, unknown>(Object.entries(object.status ?? {}));
  if (Object.entries(wanted).every(([field, value]) => isDeepStrictEqual(value, found.get(field)))) return false;
  const { namespace, name, resourceVersion } = object.metadata;
  const body = { ...typeOf(kind), metadata: { namespace, name, resourceVersion }, status: wanted };
  const path = `${pathOf(kind, { namespace, name })}/status?${query({ manager, force: true })}`;
  return (await api.patch(path, body, 'apply').catch(unless(404, 409))) !== undefined;
}

function query({ manager, force = false }: Owner): string {
  return String(new URLSearchParams({ fieldManager: manager, force: String(force) }));
}

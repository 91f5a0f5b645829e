/**
 * Server-side apply: an owner says which fields it wants. What it wanted before and wants no more, the server removes.
 *
 * Invariants:
 *   KM15  Fields of others are taken over only with `force`. Without it the refusal names their managers
 *         (`ApiError.conflicts`).
 *   KM16  A status is written only when it differs from what the server has: a status that is as it should be costs no
 *         request and wakes no watch.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Api } from './api.ts';
import { parseJson } from './json.ts';
import { type Kind, type KubeObject, type Place, pathOf, typeOf } from './objects.ts';

export interface Owner {
  /** The name of the field manager: one for each controller, and another for its status. */
  readonly manager: string;
  readonly force?: boolean;
}

/** An object as an owner wants it: the fields that it owns, and nothing else. */
export interface Wanted {
  readonly metadata: Place & { readonly name: string };
  readonly [field: string]: unknown;
}

/** Creates or changes an object, and answers with it. */
export function apply<Item extends KubeObject>(api: Api, kind: Kind, wanted: Wanted, owner: Owner): Promise<Item> {
  return api.patch(`${pathOf(kind, wanted.metadata)}?${query(owner)}`, { ...typeOf(kind), ...wanted }, 'apply');
}

/** What `applyStatus` compares: an object as an informer has it. */
export interface WithStatus extends KubeObject {
  readonly status?: Readonly<Record<string, unknown>>;
}

/** Writes the fields of `status`, when one of them differs. Whether it wrote. */
export async function applyStatus(
  api: Api,
  { kind, object }: { readonly kind: Kind; readonly object: WithStatus },
  status: Readonly<Record<string, unknown>>,
  { manager }: Owner,
): Promise<boolean> {
  // As the server would have it: without what is undefined.
  const wanted: Readonly<Record<string, unknown>> = parseJson(JSON.stringify(status));
  const found = object.status ?? {};
  if (Object.entries(wanted).every(([field, value]) => isDeepStrictEqual(value, found[field]))) return false;
  const { namespace, name } = object.metadata;
  const body = { ...typeOf(kind), metadata: { namespace, name }, status: wanted };
  await api.patch(`${pathOf(kind, { namespace, name })}/status?${query({ manager, force: true })}`, body, 'apply');
  return true;
}

function query({ manager, force = false }: Owner): string {
  return String(new URLSearchParams({ fieldManager: manager, force: String(force) }));
}

/** Resolves a name to its current database instance (V1, V11), and checks that it is still current (V6). */
import { CATALOG_GROUP, DatabaseError, type LeaderAddress, type Revision } from '#base';
import type { Binding, Node } from '#cluster';
import { Faults, isDatabaseName, parseDatabaseName } from '#model';
import { copyBegunAnew, DATABASE_NOT_FOUND, databaseDeleted, databaseNotFound } from './errors.ts';
import type { ReadScope } from './operations.ts';

/** The instance of a read, and its revision. */
export interface ReadView {
  readonly binding: Binding;
  readonly revision: Revision;
}

export interface Finder extends Pick<Node, 'currentCatalog' | 'latest'> {
  readonly catalog: Pick<Node['catalog'], 'lookup'>;
}

/**
 * Resolves a name by the local catalog if it may be read (V11), otherwise by its leader (V9).
 * @throws DatabaseError invalid_argument; not_found; unavailable when this node does not reach the leader of the
 * catalog
 */
export async function find(node: Finder, name: string, signal?: AbortSignal): Promise<Binding> {
  return findNow(node, name, signal);
}

/** Synchronous when the instance is known. */
function findNow(node: Finder, name: string, signal: AbortSignal | undefined): Binding | Promise<Binding> {
  checkName(name);
  const waiting = node.currentCatalog();
  if (waiting !== undefined) return unlessAborted(waiting, signal).then(() => findShown(node, name, signal));
  return findShown(node, name, signal);
}

function findShown(node: Finder, name: string, signal: AbortSignal | undefined): Binding | Promise<Binding> {
  return node.catalog.lookup(name) ?? findAnywhere(node, name, signal);
}

function checkName(name: string): void {
  if (isDatabaseName(name)) return;
  const faults = new Faults();
  parseDatabaseName(name, 'database_name', faults);
  faults.throwIfAny('The database name is malformed');
}

/**
 * Resolves a name once the local catalog has everything that was acknowledged before (V9).
 * @throws DatabaseError not_found; unavailable when the catalog has no leader
 */
export async function findAnywhere(node: Finder, name: string, signal?: AbortSignal): Promise<Binding> {
  const binding = await lookUpAnywhere(node, name, signal);
  if (binding === undefined) throw databaseNotFound(name);
  return binding;
}

/** Like `findAnywhere`, but undefined when there is no instance. */
export async function lookUpAnywhere(node: Finder, name: string, signal?: AbortSignal): Promise<Binding | undefined> {
  await unlessAborted(node.latest(CATALOG_GROUP), signal);
  return node.catalog.lookup(name);
}

/**
 * Runs the work on the instance that a name means. A stale catalog may resolve the name to a deleted instance; the work
 * then runs again on the current one (V9), unless it has called `bind`: then a client has received the id of the
 * instance, so that no other instance will do. The signal ends every wait for the catalog.
 * @throws errors of the work; DatabaseError of `find`
 */
export async function onInstance<Result>(
  node: Node,
  name: string,
  signal: AbortSignal | undefined,
  run: (binding: Binding, bind: () => void) => Promise<Result>,
): Promise<Result> {
  const found = findNow(node, name, signal);
  const binding = found instanceof Promise ? await found : found;
  let isBound = false;
  const bind = (): void => {
    isBound = true;
  };
  try {
    return await run(binding, bind);
  } catch (failure) {
    const isGone = failure instanceof DatabaseError && failure.details.reason === DATABASE_NOT_FOUND;
    if (!isGone || isBound) throw failure;
    const current = await findAnywhere(node, name, signal);
    if (current.databaseId === binding.databaseId) throw failure;
    return run(current, bind);
  }
}

/** Fails when this node has no replica (V10). */
export function assertHeld(node: Node, { group }: Binding): void {
  const absence = node.absence(group);
  if (absence !== undefined) throw absence;
}

/**
 * Returns why an instance no longer answers here: it was deleted (V6), or this node has removed or restarts its
 * replica.
 */
export function goneFrom(
  node: Pick<Node, 'absence'> & Pick<Finder, 'catalog'>,
  { name, databaseId, group }: Binding,
): DatabaseError {
  if (node.catalog.lookup(name)?.databaseId !== databaseId) return databaseDeleted(name);
  return node.absence(group) ?? copyBegunAnew(name);
}

/**
 * The leader of the database that a name means, or without a name that of the catalog. Undefined when it is not known
 * here.
 */
export function leaderOf(node: Node, name: string | undefined): LeaderAddress | undefined {
  const binding = name === undefined ? undefined : node.catalog.lookup(name);
  return node.leaderOf(binding?.group ?? CATALOG_GROUP);
}

/** Resolves when the name still means this instance, by a catalog that may be read (V6, V11). */
export async function untilCurrent(node: Finder, binding: Binding, signal?: AbortSignal): Promise<void> {
  const waiting = node.currentCatalog();
  if (waiting !== undefined) await unlessAborted(waiting, signal);
  if (node.catalog.lookup(binding.name)?.databaseId !== binding.databaseId) throw databaseDeleted(binding.name);
}

/**
 * Returns the result of the work; rejects with the reason of the signal if that fires first. The work itself continues.
 */
export async function unlessAborted<Answer>(work: Promise<Answer>, signal: AbortSignal | undefined): Promise<Answer> {
  if (signal === undefined) return work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/**
 * Converts a refusal by the node into the error for the client: for a deleted instance, not_found with its name (V6).
 */
export function refusalBy(binding: Binding, failure: unknown): unknown {
  const isGone = failure instanceof DatabaseError && failure.code === 'not_found';
  return isGone ? databaseDeleted(binding.name) : failure;
}

/** The scope that a reply reports. */
export function scopeOf({ binding, revision }: ReadView): ReadScope {
  return { databaseName: binding.name, databaseId: binding.databaseId, revision };
}

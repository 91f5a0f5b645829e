/** From a name to the database instance that it means now (V1, V11), and whether it still does (V6). */
import { CATALOG_GROUP, DatabaseError, type LeaderAddress, type Revision } from '#base';
import type { Binding, Node } from '#cluster';
import { Faults, isDatabaseName, parseDatabaseName } from '#model';
import { copyBegunAnew, DATABASE_NOT_FOUND, databaseDeleted, databaseNotFound } from './errors.ts';
import type { ReadScope } from './operations.ts';

/** The instance that a read works on, and how far it may look. */
export interface ReadView {
  readonly binding: Binding;
  readonly revision: Revision;
}

/** What is taken of a node to find an instance. */
export interface Finder extends Pick<Node, 'currentCatalog' | 'latest'> {
  readonly catalog: Pick<Node['catalog'], 'lookup'>;
}

/**
 * The instance that a name means, by a catalog here that may be answered from (V11), or else by its leader (V9).
 * @throws DatabaseError invalid_argument; not_found; unavailable when this node does not reach the catalog's leader
 */
export async function find(node: Finder, name: string, signal?: AbortSignal): Promise<Binding> {
  return findNow(node, name, signal);
}

/** The same; at once where it is known at once. */
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
 * The instance that a name means once the catalog here has everything that was acknowledged before (V9).
 * @throws DatabaseError not_found; unavailable when nobody leads the catalog
 */
export async function findAnywhere(node: Finder, name: string, signal?: AbortSignal): Promise<Binding> {
  const binding = await lookUpAnywhere(node, name, signal);
  if (binding === undefined) throw databaseNotFound(name);
  return binding;
}

/** The same, undefined when there is none. */
export async function lookUpAnywhere(node: Finder, name: string, signal?: AbortSignal): Promise<Binding | undefined> {
  await unlessAborted(node.latest(CATALOG_GROUP), signal);
  return node.catalog.lookup(name);
}

export interface InstanceWork<Result> {
  readonly run: (binding: Binding) => Promise<Result>;
  /** Whether somebody was told of the instance already, so that no other will do. Default: nobody was. */
  readonly isBound?: () => boolean;
  /** Ends every wait for the catalog. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Works on the instance that a name means. A catalog that is behind takes it for the one that had the name before: when
 * that turns out to be gone, on the one that has it now (V9).
 * @throws whatever the work throws; DatabaseError as of `find`
 */
export async function onInstance<Result>(
  node: Node,
  name: string,
  { run, isBound, signal }: InstanceWork<Result>,
): Promise<Result> {
  const found = findNow(node, name, signal);
  const binding = found instanceof Promise ? await found : found;
  try {
    return await run(binding);
  } catch (failure) {
    const isGone = failure instanceof DatabaseError && failure.details.reason === DATABASE_NOT_FOUND;
    if (!isGone || isBound?.() === true) throw failure;
    const current = await findAnywhere(node, name, signal);
    if (current.databaseId === binding.databaseId) throw failure;
    return run(current);
  }
}

/** Nothing is answered where no copy is (V10). */
export function assertHeld(node: Node, { group }: Binding): void {
  const absence = node.absence(group);
  if (absence !== undefined) throw absence;
}

/**
 * Why nothing more is heard of an instance that was there: it was deleted (V6), or this node has given its copy up, or
 * begins another one.
 */
export function goneFrom(
  node: Pick<Node, 'absence'> & Pick<Finder, 'catalog'>,
  { name, databaseId, group }: Binding,
): DatabaseError {
  if (node.catalog.lookup(name)?.databaseId !== databaseId) return databaseDeleted(name);
  return node.absence(group) ?? copyBegunAnew(name);
}

/**
 * Who leads the database that a name means now; without one, the catalog. Undefined: nobody, as far as is known here.
 */
export function leaderOf(node: Node, name: string | undefined): LeaderAddress | undefined {
  const binding = name === undefined ? undefined : node.catalog.lookup(name);
  return node.leaderOf(binding?.group ?? CATALOG_GROUP);
}

/** Resolves when the name still means this instance, by a catalog that may be answered from (V6, V11). */
export async function untilCurrent(node: Finder, binding: Binding, signal?: AbortSignal): Promise<void> {
  const waiting = node.currentCatalog();
  if (waiting !== undefined) await unlessAborted(waiting, signal);
  if (node.catalog.lookup(binding.name)?.databaseId !== binding.databaseId) throw databaseDeleted(binding.name);
}

/** What comes of the work; rejects with the signal's reason when that fires before. The work goes on behind it. */
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

/** What the caller is told when the node refused something of an instance: of a deleted one, by its name (V6). */
export function refusalBy(binding: Binding, failure: unknown): unknown {
  const isGone = failure instanceof DatabaseError && failure.code === 'not_found';
  return isGone ? databaseDeleted(binding.name) : failure;
}

/** What a reply says about where it was read. */
export function scopeOf({ binding, revision }: ReadView): ReadScope {
  return { databaseName: binding.name, databaseId: binding.databaseId, revision };
}

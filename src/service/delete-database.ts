/** Deletes a database by its name, or one instance by its database_id. */
import { isDatabaseId } from '#base';
import { Faults, parseDatabaseName } from '#model';
import type { ServiceContext } from './context.ts';
import { databaseNotFound } from './errors.ts';
import { assertHeld, lookUpAnywhere } from './instance.ts';
import type { DeleteDatabaseReply, DeleteDatabaseRequest } from './operations.ts';
import { untilAtFloor } from './read-scope.ts';

/**
 * Without database_id: deletes the instance that the name means, not_found when there is none. With database_id:
 * deletes that instance if the name still means it, and succeeds otherwise. A malformed id never falls back to the
 * name.
 */
export async function deleteDatabase(
  context: ServiceContext,
  request: DeleteDatabaseRequest,
): Promise<DeleteDatabaseReply> {
  const { databaseName } = request;
  const databaseId = request.databaseId?.toLowerCase();
  const faults = new Faults();
  parseDatabaseName(databaseName, 'database_name', faults);
  if (databaseId !== undefined && !isDatabaseId(databaseId)) {
    faults.add('database_id', 'must be a UUIDv7', request.databaseId);
  }
  faults.throwIfAny('The request is malformed');
  await untilInstanceAtFloor(context, request, databaseId);
  const isById = databaseId !== undefined && isDatabaseId(databaseId);
  const outcome = await context.node.deleteDatabase(databaseName, isById ? databaseId : undefined, request);
  if (outcome.kind === 'deleted') return { kind: 'deleted', databaseId: outcome.binding.databaseId };
  if (databaseId === undefined) throw databaseNotFound(databaseName);
  return { kind: 'nothing-deleted' };
}

/** The revision floor applies only to the instance that the request means. */
async function untilInstanceAtFloor(
  context: ServiceContext,
  request: DeleteDatabaseRequest,
  databaseId: string | undefined,
): Promise<void> {
  const { databaseName, floor } = request;
  if (floor === undefined) return;
  // The leader of the catalog resolves the name when it deletes, so the floor must be for the same instance (V9).
  const binding = await lookUpAnywhere(context.node, databaseName, floor.signal);
  floor.signal.throwIfAborted();
  if (binding === undefined) return;
  if (databaseId !== undefined && binding.databaseId !== databaseId) return;
  assertHeld(context.node, binding);
  try {
    await untilAtFloor(context, request, binding);
  } catch (failure) {
    // An instance that is gone by now needs no deletion.
    const isThere = context.node.catalog.lookup(databaseName)?.databaseId === binding.databaseId;
    if (databaseId === undefined || isThere) throw failure;
  }
}

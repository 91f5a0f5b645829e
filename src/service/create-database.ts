import { toRevision } from '#base';
import { Faults, parseDatabaseName } from '#model';
import type { ServiceContext } from './context.ts';
import { databaseExists } from './errors.ts';
import type { CreateDatabaseRequest, DatabaseDescription } from './operations.ts';

const ZERO = toRevision(0);

/** Binds the name to a new instance at revision 0; already_exists when it is bound. */
export async function createDatabase(
  context: ServiceContext,
  request: CreateDatabaseRequest,
): Promise<DatabaseDescription> {
  const faults = new Faults();
  parseDatabaseName(request.databaseName, 'database_name', faults);
  faults.throwIfAny('The database name is malformed');
  const outcome = await context.node.createDatabase(request.databaseName, request);
  if (outcome.kind === 'exists') throw databaseExists(request.databaseName);
  return context.reads.describe(outcome.binding, ZERO);
}

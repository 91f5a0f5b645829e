/** Creates a database, unless the name is taken or a quota of the credential is used up. */
import { CATALOG_GROUP, COPIES_MAX, DatabaseError, quote, toRevision } from '#base';
import { Faults, formatGrant, type Grant, isNamedBy, parseDatabaseName } from '#model';
import type { ServiceContext } from './context.ts';
import { databaseExists } from './errors.ts';
import type { CreateDatabaseRequest, DatabaseDescription } from './operations.ts';

const ZERO = toRevision(0);
/** Per context, the end of the last creation with a quota: such creations run one after the other. */
const ENDS = new WeakMap<ServiceContext, Promise<unknown>>();

/**
 * Binds the name to a new instance at revision 0; already_exists when the name is bound.
 *
 *   V22  A node creates databases under a quota one after the other, and counts existing ones in a catalog that the
 *        leader has confirmed. A grant thus allows at most its number of databases, plus one per further node.
 */
export async function createDatabase(
  context: ServiceContext,
  request: CreateDatabaseRequest,
): Promise<DatabaseDescription> {
  const faults = new Faults();
  parseDatabaseName(request.databaseName, 'database_name', faults);
  faults.throwIfAny('The database name is malformed');
  const { bounds = [], copies } = request;
  if (copies !== undefined && (copies < 1 || copies > COPIES_MAX)) {
    faults.add('copies', `must be from 1 to ${COPIES_MAX}, or absent`, copies);
  }
  faults.throwIfAny('The request is malformed');
  if (bounds.length === 0) return create(context, request);
  const created = (ENDS.get(context) ?? Promise.resolve()).then(() => createWithin(context, request, bounds));
  ENDS.set(
    context,
    created.catch(() => undefined),
  );
  return created;
}

async function createWithin(
  context: ServiceContext,
  request: CreateDatabaseRequest,
  bounds: readonly Grant[],
): Promise<DatabaseDescription> {
  const { catalog } = context.node;
  await context.node.latest(CATALOG_GROUP);
  // For a name that is bound, already_exists has precedence over the quota.
  if (catalog.lookup(request.databaseName) === undefined) refuseBeyond(bounds, catalog.list());
  return create(context, request);
}

async function create(context: ServiceContext, request: CreateDatabaseRequest): Promise<DatabaseDescription> {
  const outcome = await context.node.createDatabase(request.databaseName, request);
  if (outcome.kind === 'exists') throw databaseExists(request.databaseName);
  return context.reads.describe(outcome.binding, ZERO);
}

function refuseBeyond(bounds: readonly Grant[], databases: readonly { readonly name: string }[]): void {
  const counts = bounds.map(
    ({ databases: pattern }) => databases.filter(({ name }) => isNamedBy(pattern, name)).length,
  );
  if (bounds.some(({ databasesMax = Infinity }, at) => (counts[at] ?? 0) < databasesMax)) return;
  const full = bounds.map(
    (grant, at) => `${counts[at]} are named by ${quote(grant.databases)} (${formatGrant(grant)})`,
  );
  const message = `No more databases may be created with this credential: ${full.join(', ')}. Delete one, or request a higher number in the grant`;
  throw new DatabaseError('storage_full', message, { details: { reason: 'DatabaseCountQuota' } });
}

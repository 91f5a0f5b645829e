/**
 * `cairn restore`: founds a new cluster of one node with databases from an archive, at their end, a revision or a time.
 *
 * Exit code 0: done. 1: refused, or an object of the archive is missing or damaged; the reason is on stderr. 2: the
 * command line is malformed.
 */
import { planRestore, type RestorePlan, type RestorePoint } from '#archive';
import { DatabaseError, instantToMs, isRevision, parseInstant, quote, toHex } from '#base';
import { nativeRandom, type Restored, restoreNode, wallClock } from '#cluster';
import { archiveAt, type FoundArchive, findArchives, refuseTwins } from '../../archive/archive-place.ts';
import { type ArchivedCatalog, catalogsIn } from '../../archive/archived-catalogs.ts';
import { archivedDatabase } from '../../archive/archived-database.ts';
import { type CommandPorts, jsonText, runCommandLine } from '../command-line.ts';
import { DATA_DIR_VARIABLE, type Values } from '../options.ts';
import { ARCHIVE_OPTIONS, FROM_HINT } from './archive-command.ts';

const RESTORE_HELP = `Usage: cairn restore --from ARCHIVE --data-dir DIRECTORY [--database NAME]… [--revision N | --time TIME] [--json]

Founds a new cluster of one node with the databases that a cluster had, and with its API keys, from an archive. Each
database is a new instance with the history of the original one, and with its chain hashes. Start the node afterwards;
other nodes join it with empty data directories.

  --from ARCHIVE          A directory, or s3://BUCKET/PREFIX.
  --data-dir DIRECTORY    Data directory of the new node: empty, or not there; also as the variable ${DATA_DIR_VARIABLE}.
  --database NAME         Restores only this database, without API keys. It may also be named by its id. May be repeated.
  --cluster ID            Restores this cluster, if the archive has several.
  --revision N            Restores the one database up to this revision.
  --time TIME             Restores everything that was recorded up to this time, such as 2026-11-30T14:00:00Z.
  --json                  Prints the result as JSON.

See docs/operations/backup.md.
`;

const TEXT = { type: 'string' } as const;
const RESTORE = {
  name: 'restore',
  help: RESTORE_HELP,
  options: { ...ARCHIVE_OPTIONS, 'data-dir': TEXT, cluster: TEXT, revision: TEXT, time: TEXT },
  required: { ...FROM_HINT, 'data-dir': 'name an empty directory for the new node' },
} as const;

type Given = Values<typeof RESTORE.options, keyof typeof RESTORE.required>;

/** Runs the command. @returns the exit code */
export function restoreCommand(args: readonly string[], ports: CommandPorts): Promise<number> {
  return runCommandLine(RESTORE, args, ports, async (given) => {
    const point = pointOf(given.revision, given.time);
    if (typeof point === 'string') return [point];
    const { cluster, database } = given;
    if (cluster !== undefined && database !== undefined) return ['--cluster and --database exclude each other'];
    return restore(given, point, ports);
  });
}

const NO_CATALOGS: ReadonlyMap<string, ArchivedCatalog> = new Map();
const NO_CATALOG =
  'cairn restore: the archive has no catalog: all its databases are restored, also deleted ones, without API keys\n';

async function restore(given: Given, point: RestorePoint, ports: CommandPorts): Promise<number> {
  const archive = await archiveAt(given.from);
  const all = await findArchives(archive, given.database ?? []);
  const catalogs = given.database === undefined ? await catalogsIn(archive) : NO_CATALOGS;
  const catalog = catalogToRestore(catalogs, all, given.cluster);
  if (catalog === undefined && given.database === undefined) ports.err(NO_CATALOG);
  const held =
    catalog && new Map(catalog.databases.map(({ databaseId, name }): [string, string] => [databaseId, name]));
  const found = held === undefined ? all : all.filter(({ databaseId }) => held.has(databaseId));
  refuseTwins(found);
  if (point.revision !== undefined && found.length > 1) {
    throw new DatabaseError('invalid_argument', '--revision is of one database; name it by --database');
  }
  const plans = found.map(({ databaseId, opened }) => planRestore(opened, databaseId, point));
  const wanted = plans.map((plan) => archivedDatabase(archive, plan, point));
  const { keys } = catalog ?? { keys: [] };
  const options = { nowMs: wallClock.nowMs(), random: nativeRandom, keys };
  const restored = await restoreNode(given['data-dir'], wanted, options);
  ports.out(given.json === true ? jsonOf(restored, plans, keys.length) : render(restored, plans, keys.length));
  for (const { databaseId } of found) held?.delete(databaseId);
  for (const [id, name] of held ?? []) ports.err(`cairn restore: nothing of ${name} (${id}) was archived\n`);
  return 0;
}

/** The catalog of the named cluster, or of the only one; undefined when there is none. */
function catalogToRestore(
  catalogs: ReadonlyMap<string, ArchivedCatalog>,
  found: readonly FoundArchive[],
  cluster: string | undefined,
): ArchivedCatalog | undefined {
  const wanted = cluster ?? (catalogs.size === 1 ? [...catalogs.keys()][0] : undefined);
  const catalog = catalogs.get(wanted ?? '');
  if (catalog !== undefined || (wanted === undefined && catalogs.size === 0)) return catalog;
  const known = Array.from(catalogs, ([id, each]) => {
    const ids = new Set<string>(each.databases.map(({ databaseId }) => databaseId));
    const ownTimes = found.map(({ databaseId, opened: { newest } }) =>
      ids.has(databaseId) ? (newest?.manifest.writtenAtMs ?? 0) : 0,
    );
    return `${id}, archived last at ${new Date(Math.max(...ownTimes)).toISOString()}`;
  });
  const message = `name a cluster of the archive by --cluster ID: ${known.join('; ') || 'it has none'}`;
  throw new DatabaseError('invalid_argument', message);
}

function render({ identity, databases }: Restored, plans: readonly RestorePlan[], keyCount: number): string {
  return [
    `This is node ${identity.node} of the new cluster ${identity.clusterId}.`,
    ...databases.map(({ name, databaseId, revision, chainHash }, index) => {
      const origin = plans[index]?.manifest.database.id ?? '';
      return `${name} (${databaseId}): revision ${revision} of ${origin}, chain hash ${toHex(chainHash)}`;
    }),
    `${keyCount} API keys and tokens`,
    'Start the node. Other nodes join it with empty data directories and --join.',
    '',
  ].join('\n');
}

function jsonOf({ identity, databases }: Restored, plans: readonly RestorePlan[], keyCount: number): string {
  const restored = databases.map((database, index) => ({ ...database, origin: plans[index]?.manifest.database.id }));
  return jsonText({ ...identity, databases: restored, keyCount });
}

/** Returns a text for options that are wrong. */
function pointOf(revision: string | undefined, time: string | undefined): RestorePoint | string {
  if (revision !== undefined && time !== undefined) return '--revision and --time exclude each other';
  if (revision !== undefined) {
    const number = Number(revision);
    const isNumber = /^\d+$/.test(revision) && isRevision(number);
    return isNumber ? { revision: number } : `--revision ${quote(revision)} is no revision`;
  }
  if (time === undefined) return {};
  const instant = parseInstant(time);
  if (instant === undefined) return `--time ${quote(time)} is no time; write it as 2026-11-30T14:00:00Z`;
  return { timeMs: instantToMs(instant) };
}

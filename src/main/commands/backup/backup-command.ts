/**
 * `cairn backup`: copies the databases of a stopped node to an archive, or what the archive does not have of them yet.
 *
 * Exit code 0: done. 1: refused, or a failure of a disk; the reason is on stderr. 2: the command line is malformed.
 */
import { Archiver, type ArchiveSource, CatalogArchiver, type HistoryState } from '#archive';
import { DatabaseError } from '#base';
import { openStoppedNode, type StoppedNode, storeDirectoryOf, wallClock } from '#cluster';
import { historiesIn } from '#storage';
import { archiveAt } from '../../archive/archive-place.ts';
import { encodeCatalog } from '../../archive/archived-catalogs.ts';
import { heldDatabase, historySource } from '../../archive/history-source.ts';
import { type CommandPorts, jsonText, runCommandLine } from '../command-line.ts';
import { DATA_DIR_VARIABLE } from '../options.ts';
import { pruneCommand } from './backup-prune.ts';
import { verifyCommand } from './backup-verify.ts';

const BACKUP_HELP = `Usage: cairn backup --data-dir DIRECTORY --to ARCHIVE [--json]
       cairn backup verify --from ARCHIVE    Restores every database for a trial; see cairn backup verify --help.
       cairn backup prune --from ARCHIVE     Removes what an archive need not keep; see cairn backup prune --help.

Copies every database of a stopped node, and the catalog with the API keys, to an archive. A repetition copies what is
new. Use cairn restore to found a new cluster from the archive, at any revision or time.

  --data-dir DIRECTORY    Data directory of the node; also as the variable ${DATA_DIR_VARIABLE}.
  --to ARCHIVE            A directory, or s3://BUCKET/PREFIX. It may have archives of other nodes.
  --json                  Prints the result as JSON.

See docs/operations/backup.md.
`;

const BACKUP = {
  name: 'backup',
  help: BACKUP_HELP,
  options: { 'data-dir': { type: 'string' }, to: { type: 'string' }, json: { type: 'boolean' } },
  required: {
    'data-dir': 'name the data directory of the stopped node',
    to: 'name the directory or URL of the archive',
  },
} as const;

/** A database in the archive. */
interface Archived extends HistoryState {
  readonly name: string;
  readonly databaseId: string;
  /** Entries in the log that were not applied, so they are not in the archive. */
  readonly unapplied: number;
}

/** Runs the command. @returns the exit code */
export function backupCommand(args: readonly string[], ports: CommandPorts): Promise<number> {
  const [first, ...rest] = args;
  if (first === 'verify') return verifyCommand(rest, ports);
  if (first === 'prune') return pruneCommand(rest, ports);
  return runCommandLine(BACKUP, args, ports, async ({ 'data-dir': directory, to, json: isJson = false }) => {
    await using node = await openStoppedNode(directory);
    const archived = await archiveAll(node, directory, to);
    ports.out(isJson ? jsonText(archived) : render(archived));
    return 0;
  });
}

async function archiveAll(node: StoppedNode, directory: string, to: string): Promise<readonly Archived[]> {
  // Segments that have ended get their footers.
  await node.store.checkpointFiles();
  const histories = historiesIn(storeDirectoryOf(directory));
  const archive = await archiveAt(to);
  const archived: Archived[] = [];
  const { node: number, clusterId } = node.identity;
  for (const copy of node.copies.values()) {
    const source = historySource(node.store, histories, heldDatabase(copy.binding, copy.origin));
    await archiveOne(new Archiver({ ...archive, source, clock: wallClock, writer: `node ${number}` }), source);
    const { segmentStart: _, ...state } = await source.state();
    const { name, id: databaseId } = source.database;
    const last = copy.log?.entries.at(-1)?.index ?? copy.applied.index;
    archived.push({ name, databaseId, ...state, unapplied: Math.max(0, last - copy.applied.index) });
  }
  // Last, because a node that has less than the archive was refused.
  const [databases, keys] = [node.catalog.list(), node.catalog.apiKeys()];
  const catalog = encodeCatalog({ revision: node.catalog.applied.revision, databases, keys });
  await new CatalogArchiver({ ...archive, cluster: clusterId, node: number, catalog: () => catalog }).round();
  return archived;
}

async function archiveOne(archiver: Archiver, source: ArchiveSource): Promise<void> {
  for (;;) {
    const round = await archiver.round();
    if (round === 'current') return;
    if (round !== 'waiting') continue;
    const { revision } = await source.state();
    const message = `the archive of ${source.database.name} has more than this node, which ends with revision ${revision}`;
    throw new DatabaseError('invalid_argument', `${message}: take the backup from another node`);
  }
}

function render(archived: readonly Archived[]): string {
  const lines = archived.flatMap(({ name, databaseId, revision, chainHash, unapplied }) => [
    `${name} (${databaseId}): revision ${revision}, chain hash ${chainHash}`,
    ...(unapplied === 0 ? [] : [`  without ${unapplied} entries of its log: start and stop the node, and repeat`]),
  ]);
  return `${lines.length === 0 ? 'The node has no database.' : lines.join('\n')}\n`;
}

/**
 * `cairn backup prune`: removes the manifests and tails that an archive need not keep.
 *
 * Exit code 0: done. 1: the newest backup of a database is not whole, so nothing of it was removed, or the store fails;
 * the reason is on stderr. 2: the command line is malformed.
 */
import { type ArchivePorts, type Pruned, pruneArchive } from '#archive';
import { DatabaseError } from '#base';
import { wallClock } from '#cluster';
import { type FoundArchive, nameOf } from '../../archive/archive-place.ts';
import { type CommandPorts, runCommandLine } from '../command-line.ts';
import { readDuration } from '../options.ts';
import { ARCHIVE_OPTIONS, FROM_HINT, forEachDatabase } from './archive-command.ts';

const TTL_DEFAULT = '30d';

const PRUNE_HELP = `Usage: cairn backup prune --from ARCHIVE [--database NAME]… [--ttl TIME] [--json]

Removes manifests and tails that an archive need not keep. Nodes may archive to it meanwhile. The newest backup of each
database, which can be restored to any earlier revision or time, is kept, as are the 63 before it. Ever fewer of the
older ones are kept, for TIME. If an object of the newest backup is missing, nothing of that database is removed.

  --from ARCHIVE          A directory, or s3://BUCKET/PREFIX.
  --database NAME         Prunes only this database, which may also be named by its id. May be repeated.
  --ttl TIME              A number and s, m, h or d; ${TTL_DEFAULT} by default.
  --json                  Prints the result as JSON.
`;

interface PrunedDatabase extends Partial<Pruned> {
  readonly name: string;
  readonly databaseId: string;
  readonly faults: readonly string[];
}

const MS_PER_SECOND = 1_000;

const PRUNE = {
  name: 'backup prune',
  help: PRUNE_HELP,
  options: { ...ARCHIVE_OPTIONS, ttl: { type: 'string' } },
  required: FROM_HINT,
} as const;

/** Runs the command. @returns the exit code */
export function pruneCommand(args: readonly string[], ports: CommandPorts): Promise<number> {
  return runCommandLine(PRUNE, args, ports, async ({ ttl = TTL_DEFAULT, ...asked }) => {
    const faults: string[] = [];
    const keptFromMs = wallClock.nowMs() - MS_PER_SECOND * (readDuration('ttl', ttl, faults) ?? 0);
    if (faults.length > 0) return faults;
    const work = async (archive: ArchivePorts, found: FoundArchive): Promise<PrunedDatabase> => {
      const { databaseId } = found;
      const pruned = await pruneArchive(archive, databaseId, keptFromMs).catch(faultOf);
      return { name: nameOf(found), databaseId, faults: [], ...pruned };
    };
    return forEachDatabase(asked, { command: PRUNE.name, work, render }, ports);
  });
}

function faultOf(cause: unknown): Pick<PrunedDatabase, 'faults'> {
  if (cause instanceof DatabaseError && cause.code !== 'unavailable') return { faults: [cause.message] };
  throw cause;
}

function render({ name, databaseId, manifests, tails, faults }: PrunedDatabase): string {
  const done = faults.length === 0 ? `${manifests} manifests and ${tails} tails removed` : 'nothing removed';
  return `${name} (${databaseId}): ${done}\n`;
}

/**
 * `cairn backup prune`: removes the manifests and tails that an archive need not keep.
 *
 * Exit code 0: done. 1: the newest backup of a database is not whole, so nothing of it was removed, or the store fails;
 * the reason is on stderr. 2: the command line is malformed.
 */
import { type Pruned, pruneArchive } from '#archive';
import { DatabaseError, failure, ok, type Result } from '#base';
import { wallClock } from '#cluster';
import { archiveAt, findArchives, nameOf } from './archive-place.ts';
import { type CommandPorts, EXIT_REFUSED, runCommandLine } from './command-output.ts';
import { readDuration, readRequired } from './option-faults.ts';

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

interface Asked {
  readonly from: string;
  readonly databases: readonly string[];
  readonly ttlMs: number;
  readonly isJson: boolean;
}

interface PrunedDatabase extends Partial<Pruned> {
  readonly name: string;
  readonly databaseId: string;
  readonly fault?: string;
}

const MS_PER_SECOND = 1_000;

/** Runs the command. @returns the exit code */
export function pruneCommand(args: readonly string[], ports: CommandPorts): Promise<number> {
  return runCommandLine({ name: 'backup prune', help: PRUNE_HELP, read: readArguments, run }, args, ports);

  async function run({ from, databases, ttlMs, isJson }: Asked): Promise<number> {
    const archive = await archiveAt(from);
    const all: PrunedDatabase[] = [];
    for (const found of await findArchives(archive, databases)) {
      const { databaseId } = found;
      const pruned = await pruneArchive(archive, databaseId, wallClock.nowMs() - ttlMs).catch(faultOf);
      const one = { name: nameOf(found), databaseId, ...pruned };
      all.push(one);
      if (!isJson) ports.out(render(one));
      if ('fault' in one) ports.err(`cairn backup prune: ${one.fault}\n`);
    }
    if (isJson) ports.out(`${JSON.stringify(all, undefined, 2)}\n`);
    return all.some(({ fault }) => fault !== undefined) ? EXIT_REFUSED : 0;
  }
}

function faultOf(cause: unknown): { readonly fault: string } {
  if (cause instanceof DatabaseError && cause.code !== 'unavailable') return { fault: cause.message };
  throw cause;
}

function render({ name, databaseId, manifests, tails, fault }: PrunedDatabase): string {
  const done = fault === undefined ? `${manifests} manifests and ${tails} tails removed` : 'nothing removed';
  return `${name} (${databaseId}): ${done}\n`;
}

function readArguments(args: readonly string[]): Result<Asked, readonly string[]> {
  const options = {
    from: { type: 'string' },
    database: { type: 'string', multiple: true },
    ttl: { type: 'string' },
    json: { type: 'boolean' },
  } as const;
  const given = readRequired(args, {}, options, { from: 'name the directory or URL of the archive' });
  if (given.kind === 'failure') return given;
  const { values, textOf } = given.value;
  const faults: string[] = [];
  const { database: databases = [], ttl = TTL_DEFAULT, json: isJson = false } = values;
  const seconds = readDuration('ttl', ttl, faults) ?? 0;
  if (faults.length > 0) return failure(faults);
  return ok({ from: textOf('from'), databases, ttlMs: seconds * MS_PER_SECOND, isJson });
}

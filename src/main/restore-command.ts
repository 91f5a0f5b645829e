/**
 * `cairn restore`: founds a new cluster of one node with databases from an archive, at their end, a revision or a time.
 *
 * Exit code 0: done. 1: refused, or an object of the archive is missing or damaged; the reason is on stderr. 2: the
 * command line is malformed.
 */
import { planRestore, type RestorePlan, type RestorePoint } from '#archive';
import { DatabaseError, failure, instantToMs, isRevision, ok, parseInstant, quote, type Result, toHex } from '#base';
import { nativeRandom, type Restored, restoreNode, wallClock } from '#cluster';
import { archiveAt, findArchives, refuseTwins } from './archive-place.ts';
import { archivedDatabase } from './archived-database.ts';
import { type CommandPorts, runCommandLine } from './command-output.ts';
import { DATA_DIR_VARIABLE, readRequired } from './option-faults.ts';

const RESTORE_HELP = `Usage: cairn restore --from ARCHIVE --data-dir DIRECTORY [--database NAME]… [--revision N | --time TIME] [--json]

Founds a new cluster of one node with databases from an archive. Each is a new instance with the history of the original
one, and with its chain hashes. Start the node afterwards; other nodes join it with empty data directories.

  --from ARCHIVE          A directory, or s3://BUCKET/PREFIX.
  --data-dir DIRECTORY    Data directory of the new node: empty, or not there; also as the variable ${DATA_DIR_VARIABLE}.
  --database NAME         Restores only this database, which may also be named by its id. May be repeated.
  --revision N            Restores the one database up to this revision.
  --time TIME             Restores everything that was recorded up to this time, such as 2026-11-30T14:00:00Z.
  --json                  Prints the result as JSON.

API keys are not archived. See docs/operations/backup.md.
`;

export interface RestorePorts extends CommandPorts {
  readonly environment: Readonly<Record<string, string | undefined>>;
}

interface Asked {
  readonly from: string;
  readonly directory: string;
  readonly databases: readonly string[];
  readonly point: RestorePoint;
  readonly isJson: boolean;
}

/** Runs the command. @returns the exit code */
export function restoreCommand(args: readonly string[], ports: RestorePorts): Promise<number> {
  const read = (given: readonly string[]): Result<Asked, readonly string[]> => readArguments(given, ports.environment);
  return runCommandLine(
    { name: 'restore', help: RESTORE_HELP, read, run: (asked) => restore(asked, ports) },
    args,
    ports,
  );
}

async function restore({ from, directory, databases, point, isJson }: Asked, ports: RestorePorts): Promise<number> {
  const archive = await archiveAt(from);
  const found = await findArchives(archive, databases);
  refuseTwins(found);
  if (point.kind === 'revision' && found.length > 1) {
    throw new DatabaseError('invalid_argument', '--revision is of one database; name it by --database');
  }
  const plans = found.map(({ databaseId, opened }) => planRestore(opened, databaseId, point));
  const wanted = plans.map((plan) => archivedDatabase(archive, plan, point));
  const restored = await restoreNode(directory, wanted, { nowMs: wallClock.nowMs(), random: nativeRandom });
  ports.out(isJson ? jsonOf(restored, plans) : render(restored, plans));
  return 0;
}

function render({ identity, databases }: Restored, plans: readonly RestorePlan[]): string {
  return [
    `This is node ${identity.node} of the new cluster ${identity.clusterId}.`,
    ...databases.map(({ name, databaseId, revision, chainHash }, index) => {
      const origin = plans[index]?.manifest.database.id ?? '';
      return `${name} (${databaseId}): revision ${revision} of ${origin}, chain hash ${toHex(chainHash)}`;
    }),
    'Start the node. Other nodes join it with empty data directories and --join.',
    '',
  ].join('\n');
}

function jsonOf({ identity, databases }: Restored, plans: readonly RestorePlan[]): string {
  const restored = databases.map(({ chainHash, ...database }, index) => {
    return { ...database, chainHash: toHex(chainHash), origin: plans[index]?.manifest.database.id };
  });
  return `${JSON.stringify({ ...identity, databases: restored }, undefined, 2)}\n`;
}

function readArguments(
  args: readonly string[],
  environment: RestorePorts['environment'],
): Result<Asked, readonly string[]> {
  const options = {
    from: { type: 'string' },
    'data-dir': { type: 'string' },
    database: { type: 'string', multiple: true },
    revision: { type: 'string' },
    time: { type: 'string' },
    json: { type: 'boolean' },
  } as const;
  const given = readRequired(args, environment, options, {
    from: 'name the directory or URL of the archive',
    'data-dir': 'name an empty directory for the new node',
  });
  if (given.kind === 'failure') return given;
  const { values, textOf } = given.value;
  const { database: databases = [], revision, time, json: isJson = false } = values;
  const point = pointOf(revision, time);
  if (typeof point === 'string') return failure([point]);
  return ok({ from: textOf('from'), directory: textOf('data-dir'), databases, point, isJson });
}

/** Returns a text for options that are wrong. */
function pointOf(revision: string | undefined, time: string | undefined): RestorePoint | string {
  if (revision !== undefined && time !== undefined) return '--revision and --time exclude each other';
  if (revision !== undefined) {
    const number = Number(revision);
    const isNumber = /^\d+$/.test(revision) && isRevision(number);
    return isNumber ? { kind: 'revision', revision: number } : `--revision ${quote(revision)} is no revision`;
  }
  if (time === undefined) return { kind: 'end' };
  const instant = parseInstant(time);
  if (instant === undefined) return `--time ${quote(time)} is no time; write it as 2026-11-30T14:00:00Z`;
  return { kind: 'time', ms: instantToMs(instant) };
}

/**
 * `cairn backup verify`: restores every database of an archive in a temporary directory, one after the other, and
 * compares hashes.
 *
 * Exit code 0: all can be restored. 1: an object or a database is missing or damaged, or the store fails; stderr names
 * each. 2: the command line is malformed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ArchiveFault,
  type ArchivePorts,
  archivedDatabases,
  openArchive,
  planRestore,
  type RestorePlan,
  readObject,
} from '#archive';
import { assert, DatabaseError, type DatabaseId, toHex } from '#base';
import { nativeRandom, type RestoredDatabase, restoreNode, wallClock } from '#cluster';
import { archiveAt, type FoundArchive, nameOf } from '../../archive/archive-place.ts';
import { catalogsIn } from '../../archive/archived-catalogs.ts';
import { archivedDatabase } from '../../archive/archived-database.ts';
import { EXIT_REFUSED } from '../../process/refusals.ts';
import { type CommandPorts, runCommandLine } from '../command-line.ts';
import { ARCHIVE_OPTIONS, FROM_HINT, forEachDatabase } from './archive-command.ts';

const VERIFY_HELP = `Usage: cairn backup verify --from ARCHIVE [--database NAME]… [--json]

Restores every database of an archive in a temporary directory, which is removed afterwards: each object is read, and
its hash and the chain of hashes are compared. Catalogs are read, too. The directory is in TMPDIR, and takes as much
space as the largest database.

  --from ARCHIVE          A directory, or s3://BUCKET/PREFIX.
  --database NAME         Verifies only this database, which may also be named by its id. May be repeated.
  --json                  Prints the result as JSON.

Each object that cannot be used is named on stderr, as is a database of a catalog of which nothing is archived after a
minute. The exit code is 1 then.
`;

/** A new database is archived after five seconds. */
const YOUNG_MS = 60_000;
const UUID_TIME_DIGITS = 12;
const HEX = 16;

interface Verified {
  readonly name: string;
  readonly databaseId: string;
  readonly revision?: number;
  readonly chainHash?: string;
  /** When the newest manifest was written. */
  readonly archivedAt?: string;
  readonly faults: readonly string[];
}

const VERIFY = { name: 'backup verify', help: VERIFY_HELP, options: ARCHIVE_OPTIONS, required: FROM_HINT } as const;

/** Runs the command. @returns the exit code */
export function verifyCommand(args: readonly string[], ports: CommandPorts): Promise<number> {
  return runCommandLine(VERIFY, args, ports, async (asked) => {
    const youngFromMs = wallClock.nowMs() - YOUNG_MS;
    const code = await forEachDatabase(asked, { command: VERIFY.name, work: verify, render }, ports);
    if (asked.database !== undefined) return code;
    const missing = await missingDatabases(await archiveAt(asked.from), youngFromMs);
    for (const each of missing) ports.err(`cairn ${VERIFY.name}: nothing of ${each} is in the archive\n`);
    return missing.length > 0 ? EXIT_REFUSED : code;
  });
}

/** Databases that a catalog has and the archive has not, except for young ones, which may not be archived yet. */
async function missingDatabases(archive: ArchivePorts, youngFromMs: number): Promise<readonly string[]> {
  const catalogs = [...(await catalogsIn(archive)).values()];
  const archived = new Set(await archivedDatabases(archive.store));
  const missing = catalogs
    .flatMap(({ databases }) => databases)
    .filter(({ databaseId }) => !archived.has(databaseId) && createdAtMs(databaseId) < youngFromMs);
  return missing.map(({ name, databaseId }) => `${name} (${databaseId})`);
}

/** The id is a UUIDv7, whose first 48 bits are its time. */
function createdAtMs(databaseId: DatabaseId): number {
  return Number.parseInt(databaseId.replaceAll('-', '').slice(0, UUID_TIME_DIGITS), HEX);
}

async function verify(archive: ArchivePorts, { databaseId }: FoundArchive): Promise<Verified> {
  // Retention may have removed objects since all were found.
  const opened = await openArchive(archive, databaseId);
  const found = { databaseId, opened };
  const named = { name: nameOf(found), databaseId };
  try {
    const plan = planRestore(opened, databaseId);
    const { revision, chainHash } = await restoreForTrial(archive, plan);
    const archivedAt = new Date(plan.manifest.writtenAtMs).toISOString();
    return { ...named, revision, chainHash: toHex(chainHash), archivedAt, faults: [] };
  } catch (failure) {
    if (!(failure instanceof DatabaseError) || failure.code === 'unavailable') throw failure;
    const faults = [...opened.faults, ...(await faultsInObjects(archive, found))];
    return { ...named, faults: (faults.length > 0 ? faults : [failure]).map(({ message }) => message) };
  }
}

async function restoreForTrial(archive: ArchivePorts, plan: RestorePlan): Promise<RestoredDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'cairn-verify-'));
  try {
    const wanted = [archivedDatabase(archive, plan)];
    const { databases } = await restoreNode(directory, wanted, { nowMs: wallClock.nowMs(), random: nativeRandom });
    const [restored] = databases;
    assert(restored !== undefined, 'A node is restored with its database');
    return restored;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Reads all objects of the newest manifest that is whole. */
async function faultsInObjects(archive: ArchivePorts, found: FoundArchive): Promise<readonly ArchiveFault[]> {
  const { databaseId, opened } = found;
  if (opened.newest === undefined) return [];
  const faults: ArchiveFault[] = [];
  for (const object of planRestore({ ...opened, faults: [] }, databaseId).objects) {
    try {
      await readObject(archive, object);
    } catch (failure) {
      if (!(failure instanceof ArchiveFault)) throw failure;
      faults.push(failure);
    }
  }
  return faults;
}

function render({ name, databaseId, revision, chainHash, archivedAt, faults }: Verified): string {
  const state =
    faults.length > 0
      ? 'cannot be restored whole'
      : `revision ${revision}, chain hash ${chainHash}, archived last at ${archivedAt}`;
  return `${name} (${databaseId}): ${state}\n`;
}

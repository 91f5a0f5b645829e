/** Options of commands on the databases of an archive, and their results for each database. */
import type { ArchivePorts } from '#archive';
import { archiveAt, type FoundArchive, findArchives } from '../../archive/archive-place.ts';
import { EXIT_REFUSED } from '../../process/refusals.ts';
import { type CommandPorts, jsonText } from '../command-line.ts';

export const ARCHIVE_OPTIONS = {
  from: { type: 'string' },
  database: { type: 'string', multiple: true },
  json: { type: 'boolean' },
} as const;

export const FROM_HINT = { from: 'name the directory or URL of the archive' } as const;

interface AskedArchive {
  readonly from: string;
  /** Names or ids; none: all databases. */
  readonly database?: readonly string[];
  readonly json?: boolean;
}

interface Work<Done> {
  /** Name of the command. */
  readonly command: string;
  readonly work: (archive: ArchivePorts, found: FoundArchive) => Promise<Done>;
  /** A line of text. */
  readonly render: (done: Done) => string;
}

/** Works on one database after the other, and reports each. @returns the exit code: 1 if one has a fault */
export async function forEachDatabase<Done extends { readonly faults: readonly string[] }>(
  { from, database: databases = [], json: isJson = false }: AskedArchive,
  { command, work, render }: Work<Done>,
  { out, err }: CommandPorts,
): Promise<number> {
  const archive = await archiveAt(from);
  const all: Done[] = [];
  for (const found of await findArchives(archive, databases)) {
    const done = await work(archive, found);
    all.push(done);
    if (!isJson) out(render(done));
    for (const fault of done.faults) err(`cairn ${command}: ${fault}\n`);
  }
  if (isJson) out(jsonText(all));
  return all.some(({ faults }) => faults.length > 0) ? EXIT_REFUSED : 0;
}

/**
 * Bytes of a tar archive (ustar): equal entries give equal bytes on every machine, at any time.
 *
 * Entries are sorted by path, and folders above them are added where they are missing. Times are 0; owners are root
 * unless an entry says otherwise.
 */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';

export type Entry =
  | { readonly kind: 'file'; readonly path: string; readonly bytes: Uint8Array; readonly isProgram: boolean }
  | { readonly kind: 'folder'; readonly path: string; readonly mode: number; readonly owner: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

const BLOCK_BYTES = 512;
const NAME_BYTES_MAX = 100;
const PREFIX_BYTES_MAX = 155;
const TYPES = { file: '0', link: '2', folder: '5' } as const;
const ROOT_FOLDER = '.';
const READABLE = 0o644;
const RUNNABLE = 0o755;
/** The mode of a link has no effect. */
const ANY = 0o777;
const ANYBODY_MAY_RUN = 0o001;

export function textFile(path: string, text: string): Entry {
  return { kind: 'file', path, bytes: Buffer.from(text), isProgram: false };
}

/** The files and links of a folder, as far as they are kept, under another path. Empty folders are left out. */
export function entriesOf(
  folder: string,
  path: string,
  isKept: (name: string) => boolean,
  within: string = '',
): readonly Entry[] {
  // A recursive listing of Node would follow links.
  return readdirSync(join(folder, within), { withFileTypes: true }).flatMap((found): readonly Entry[] => {
    const name = posix.join(within, found.name);
    const source = join(folder, name);
    if (found.isDirectory()) return entriesOf(folder, path, isKept, name);
    if (!isKept(name)) return [];
    const at = posix.join(path, name);
    if (found.isSymbolicLink()) return [{ kind: 'link', path: at, target: readlinkSync(source) }];
    const isProgram = (statSync(source).mode & ANYBODY_MAY_RUN) !== 0;
    return [{ kind: 'file', path: at, bytes: readFileSync(source), isProgram }];
  });
}

export function tar(entries: readonly Entry[]): Buffer {
  const sorted = [...withFolders(entries)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const blocks = sorted.flatMap(([, entry]) => {
    const bytes = entry.kind === 'file' ? entry.bytes : new Uint8Array();
    return [header(entry, bytes.length), bytes, Buffer.alloc(-bytes.length & (BLOCK_BYTES - 1))];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function withFolders(entries: readonly Entry[]): ReadonlyMap<string, Entry> {
  const byPath = new Map<string, Entry>();
  const folders = (path: string): readonly string[] =>
    path === ROOT_FOLDER ? [] : [posix.dirname(path), ...folders(posix.dirname(path))];
  for (const path of entries.flatMap((entry) => folders(entry.path)))
    byPath.set(path, { kind: 'folder', path, mode: RUNNABLE, owner: 0 });
  for (const entry of entries) byPath.set(entry.path, entry);
  return byPath;
}

function header(entry: Entry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  const { prefix, name } = splitPath(entry.kind === 'folder' ? `${entry.path}/` : entry.path);
  const owner = octal(entry.kind === 'folder' ? entry.owner : 0, 7);
  const target = entry.kind === 'link' ? entry.target : '';
  if (Buffer.byteLength(target) > NAME_BYTES_MAX) throw new Error(`the target of a link is too long: ${target}`);
  block.write(name, 0);
  block.write(octal(modeOf(entry), 7), 100);
  block.write(owner, 108);
  block.write(owner, 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  // The sum is taken over a field of blanks in its own position.
  block.write(' '.repeat(8), 148);
  block.write(TYPES[entry.kind], 156);
  block.write(target, 157);
  block.write('ustar\x0000', 257);
  block.write(prefix, 345);
  block.write(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    )} `,
    148,
  );
  return block;
}

function modeOf(entry: Entry): number {
  if (entry.kind === 'folder') return entry.mode;
  if (entry.kind === 'link') return ANY;
  return entry.isProgram ? RUNNABLE : READABLE;
}

/** A long path is split at a slash. */
function splitPath(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= NAME_BYTES_MAX) return { prefix: '', name: path };
  const slash = path.indexOf('/', path.length - NAME_BYTES_MAX - 1);
  const parts = { prefix: path.slice(0, slash), name: path.slice(slash + 1) };
  const fits = slash > 0 && slash < path.length - 1 && Buffer.byteLength(parts.prefix) <= PREFIX_BYTES_MAX;
  if (!fits || Buffer.byteLength(parts.name) > NAME_BYTES_MAX) throw new Error(`the path is too long: ${path}`);
  return parts;
}

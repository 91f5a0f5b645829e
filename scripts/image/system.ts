/**
 * The system under Node, out of packages of Debian: the C and C++ libraries, their licences, and what a scanner reads.
 * No shell, no program, no package manager.
 *
 * The packages are those that apt of this machine finds, and are kept in a cache. Equal images come of equal packages:
 * a security update of Debian changes this layer.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Software } from './sbom.ts';
import { type Entry, entriesOf, textFile } from './tar.ts';

/** The user that runs a node, and owns its data. */
export const USER = 65_532;
export const DATA_FOLDER = '/var/lib/cairn';

const GCC_LICENSE = 'GPL-3.0-or-later WITH GCC-exception-3.1';
const PACKAGES: Readonly<Record<string, string>> = {
  'base-files': 'GPL-2.0-or-later',
  libc6: 'LGPL-2.1-or-later',
  'libgcc-s1': GCC_LICENSE,
  'libstdc++6': GCC_LICENSE,
};
/** Written by `apt-get update`. */
const LISTS = '/var/lib/apt/lists';
/** Has the text of the licence of the libraries of GCC; the release of GCC is in its name. */
const GCC_BASE = /gcc-\d+-base/;
const KEPT = [
  /^(?:usr\/)?lib(?:64)?(?:$|\/(?!.*\/gconv\/))/,
  // Packages of one source share a folder of documents by a link.
  /^usr\/share\/(?:doc\/[^/]+(?:\/copyright)?$|common-licenses\/)/,
  /^etc\/(?:os-release|debian_version)$/,
];
const FILES: readonly Entry[] = [
  textFile('etc/passwd', `root:x:0:0:root:/:/nonexistent\ncairn:x:${USER}:${USER}:cairn:${DATA_FOLDER}:/nonexistent\n`),
  textFile('etc/group', `root:x:0:\ncairn:x:${USER}:\n`),
  textFile('etc/nsswitch.conf', 'hosts: files dns\n'),
  { kind: 'folder', path: 'tmp', mode: 0o1777, owner: 0 },
  { kind: 'folder', path: DATA_FOLDER.slice(1), mode: 0o700, owner: USER },
];

export function debianSystem(cache: string): {
  readonly entries: readonly Entry[];
  readonly software: readonly Software[];
} {
  const debs = packagesIn(cache);
  const tree = mkdtempSync(join(tmpdir(), 'cairn-system-'));
  try {
    for (const deb of debs) run('dpkg-deb', '--extract', deb, tree);
    const software = debs.map(softwareOf);
    // The format of images without a package manager: a file for each package.
    const records = debs.map((deb, at) =>
      textFile(`var/lib/dpkg/status.d/${software[at]?.name}`, run('dpkg-deb', '--field', deb)),
    );
    const extracted = entriesOf(tree, '', (name) => KEPT.some((pattern) => pattern.test(name)));
    return { entries: [...extracted, ...records, ...FILES], software };
  } finally {
    rmSync(tree, { recursive: true });
  }
}

/** The paths of the packages. apt takes seconds to name them, and names the same ones until its lists change. */
function packagesIn(cache: string): readonly string[] {
  const noted = join(cache, 'packages.json');
  if (existsSync(noted) && statSync(noted).mtimeMs > statSync(LISTS).mtimeMs) {
    const debs: readonly string[] = JSON.parse(readFileSync(noted, 'utf8'));
    if (debs.every((deb) => existsSync(deb))) return debs;
  }
  const debs = download(cache);
  // Another process may read it.
  const written = `${noted}.${process.pid}`;
  writeFileSync(written, JSON.stringify(debs));
  renameSync(written, noted);
  return debs;
}

/** Downloads the packages unless they are in the cache. */
function download(cache: string): readonly string[] {
  const base = GCC_BASE.exec(run('apt-cache', 'depends', 'libgcc-s1'));
  if (base === null) throw new Error('apt knows no libgcc-s1; run apt-get update');
  const names = [...Object.keys(PACKAGES), ...base];
  // Each line: the address in quotes, the name of the file, and its size and hash.
  const files = run('apt-get', 'download', '--print-uris', ...names).matchAll(/^'\S+' (?<file>\S+) /gm);
  const debs = [...files].map(({ groups }) => join(cache, groups?.['file'] ?? ''));
  mkdirSync(cache, { recursive: true });
  if (!debs.every((deb) => existsSync(deb))) {
    execFileSync('apt-get', ['download', '--quiet', ...names], { cwd: cache, stdio: ['ignore', 'ignore', 'pipe'] });
  }
  return debs.toSorted();
}

function softwareOf(deb: string): Software {
  const [name = '', version = '', arch = ''] = run(
    'dpkg-deb',
    '--show',
    '--showformat=${Package} ${Version} ${Architecture}',
    deb,
  ).split(' ');
  return {
    name,
    version,
    license: PACKAGES[name] ?? GCC_LICENSE,
    licenseFiles: [`/usr/share/doc/${name}/copyright`],
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${arch}`,
    hash: { alg: 'SHA-256', content: createHash('sha256').update(readFileSync(deb)).digest('hex') },
  };
}

function run(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

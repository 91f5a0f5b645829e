/**
 * npm run image: makes the image of a container that runs a node, as an OCI archive, without a daemon and without an
 * image under it. It needs Debian's `apt-get` and `dpkg-deb`; the Dockerfile makes the same layout elsewhere.
 *
 *   npm run image -- [--out dist-image/cairn.tar] [--rootfs FOLDER] [--dist dist] [--program-only]
 *
 * Writes FILE.tar, which `docker load`, `podman load`, `ctr images import` and `skopeo copy oci-archive:` read. Beside
 * it is what it consists of, in CycloneDX (FILE.cdx.json). The image is named cairn:<version of package.json>. --rootfs
 * unpacks the layers into an empty folder, and no archive is written without --out; the owners of files need root.
 * --program-only leaves out system and Node, for a Dockerfile that has them. --dist names another bundle than that of
 * `npm run build`.
 *
 *   /usr/local/bin/cairn            the command, and the entry point
 *   /usr/local/bin/cairn-operator   the operator
 *   /usr/local/bin/node             Node, in the place where the official image has it
 *   /opt/cairn                      dist, node_modules, docs, package.json, LICENSE
 *   /opt/cairn/cairn.cdx.json       the bill of materials
 *   /opt/cairn/THIRD-PARTY          a line for each package: name, licence, and the file with its text
 *   /var/lib/cairn                  the data directory, owned by 65532:65532; mount a volume there
 *   /tmp                            nothing is written there
 *
 * Equal trees give equal digests, as long as Debian's packages are the same: times are 0, entries are sorted, owners
 * are fixed. The time of the image is that of the commit, or SOURCE_DATE_EPOCH.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { writeArchive } from './image/archive.ts';
import { imageOf } from './image/image.ts';
import { tar } from './image/tar.ts';
import { readOptions, refuse } from './support/command-line.ts';

const MIB = 2 ** 20;
const root = resolve(import.meta.dirname, '..');
const values = readOptions({ out: undefined, rootfs: undefined, dist: 'dist' }, ['program-only']);
const { rootfs, out = rootfs === undefined ? 'dist-image/cairn.tar' : undefined } = values;
const image = imageOf(root, {
  dist: resolve(root, values.dist ?? 'dist'),
  isProgramOnly: Object.hasOwn(values, 'program-only'),
});

if (rootfs !== undefined) {
  mkdirSync(rootfs, { recursive: true });
  for (const { entries } of image.layers) {
    execFileSync('tar', ['--extract', '--preserve-permissions', '--numeric-owner', '--directory', rootfs], {
      input: tar(entries),
      stdio: ['pipe', 'inherit', 'inherit'],
    });
  }
  console.log(`${rootfs}: unpacked`);
}
if (out !== undefined) {
  if (!out.endsWith('.tar')) refuse(`--out takes a name that ends with .tar, not ${out}`);
  mkdirSync(dirname(out), { recursive: true });
  const { digest, layers } = await writeArchive(out, image.layers, image.config);
  writeFileSync(out.replace(/\.tar$/, '.cdx.json'), image.sbom);
  for (const { name, bytes } of layers) console.log(`  ${mebibytes(bytes)}  ${name}`);
  console.log(`${mebibytes(statSync(out).size)}  ${out}`);
  console.log(`${image.config.name}:${image.config.version}@${digest}`);
}

function mebibytes(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

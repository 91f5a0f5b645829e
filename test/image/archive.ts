// Unpacks an image archive as a container runtime does: it checks each blob against its digest and unpacks the layers.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { ContainerConfig } from '../../scripts/image/archive.ts';

interface Blob {
  readonly digest: string;
  readonly size: number;
}

interface Index {
  readonly manifests: readonly (Blob & { readonly annotations: Readonly<Record<string, string>> })[];
}

interface Manifest {
  readonly config: Blob;
  readonly layers: readonly Blob[];
}

interface Configuration {
  readonly config: ContainerConfig;
  readonly rootfs: { readonly diff_ids: readonly string[] };
}

export interface UnpackedImage {
  /** Name as pods use it, without the registry prefix that containerd adds. */
  readonly name: string;
  /** Folder of the root file system. */
  readonly rootfs: string;
  readonly config: ContainerConfig;
}

/** Annotation with the name of the image. */
const NAME = 'io.containerd.image.name';

/** Unpacks the archive below the folder. */
export function unpackImage(archive: string, folder: string): UnpackedImage {
  const layout = join(folder, 'layout');
  const rootfs = join(folder, 'rootfs');
  for (const made of [layout, rootfs]) mkdirSync(made, { recursive: true });
  execFileSync('tar', ['-xf', archive, '-C', layout]);
  const index: Index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'));
  const [described] = index.manifests;
  if (described === undefined) throw new Error('the archive has no image');
  const manifest: Manifest = JSON.parse(blobOf(layout, described).toString());
  const { config, rootfs: root }: Configuration = JSON.parse(blobOf(layout, manifest.config).toString());
  for (const [at, layer] of manifest.layers.entries()) {
    const bytes = gunzipSync(blobOf(layout, layer));
    if (digestOf(bytes) !== root.diff_ids[at]) throw new Error(`layer ${at} is another one than the config names`);
    execFileSync('tar', ['-xp', '--numeric-owner', '-C', rootfs], { input: bytes });
  }
  return { name: (described.annotations[NAME] ?? '').replace('docker.io/library/', ''), rootfs, config };
}

function blobOf(layout: string, { digest, size }: Blob): Buffer {
  const bytes = readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
  if (digestOf(bytes) !== digest || bytes.length !== size) throw new Error(`the blob ${digest} is damaged`);
  return bytes;
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

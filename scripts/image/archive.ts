/**
 * An image as an OCI archive (image layout of the OCI image specification 1.1, in one tar file), which containerd,
 * podman and skopeo read. It also has the `manifest.json` that `docker load` reads.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Entry, tar, textFile } from './tar.ts';

export interface Layer {
  readonly name: string;
  readonly entries: readonly Entry[];
}

export interface ImageConfig {
  readonly name: string;
  readonly version: string;
  /** In the time format of RFC 3339. */
  readonly created: string;
  /** Architecture, in Node's naming. */
  readonly arch: string;
  readonly config: ContainerConfig;
}

/** Configuration of the image's containers, with the names of the specification. */
export interface ContainerConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly WorkingDir: string;
  readonly StopSignal: string;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Volumes: Readonly<Record<string, object>>;
  readonly Labels: Readonly<Record<string, string>>;
}

export interface WrittenArchive {
  /** Digest of the manifest, which identifies the image. */
  readonly digest: string;
  readonly layers: readonly { readonly name: string; readonly bytes: number }[];
}

interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const OCI = 'application/vnd.oci.image';
const SHA256 = 'sha256:';
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const compress = promisify(gzip);

export async function writeArchive(
  file: string,
  layers: readonly Layer[],
  image: ImageConfig,
  level = 9,
): Promise<WrittenArchive> {
  const blobs: Entry[] = [];
  const addBlob = (bytes: Uint8Array, mediaType: string): Blob => {
    const digest = sha256(bytes);
    blobs.push({ kind: 'file', path: blobPath(digest), bytes, isProgram: false });
    return { mediaType, digest: SHA256 + digest, size: bytes.length };
  };
  const addJson = (value: unknown, mediaType: string): Blob => addBlob(Buffer.from(JSON.stringify(value)), mediaType);

  const packed = await Promise.all(
    layers.map(async ({ name, entries }) => {
      const bytes = tar(entries);
      return { name, diffId: SHA256 + sha256(bytes), bytes: await compress(bytes, { level }) };
    }),
  );
  const layerBlobs = packed.map(({ bytes }) => addBlob(bytes, `${OCI}.layer.v1.tar+gzip`));
  const config = addJson(configJson(image, packed), `${OCI}.config.v1+json`);
  const mediaType = `${OCI}.manifest.v1+json`;
  const manifest = addJson({ schemaVersion: 2, mediaType, config, layers: layerBlobs }, mediaType);

  const annotations = {
    'org.opencontainers.image.ref.name': image.version,
    'io.containerd.image.name': `docker.io/library/${image.name}:${image.version}`,
  };
  const dockerManifest = {
    Config: pathOf(config),
    RepoTags: [`${image.name}:${image.version}`],
    Layers: layerBlobs.map(pathOf),
  };
  const index = { schemaVersion: 2, manifests: [{ ...manifest, annotations }] };
  const layout = [
    textFile('oci-layout', JSON.stringify({ imageLayoutVersion: '1.0.0' })),
    textFile('index.json', JSON.stringify(index)),
    textFile('manifest.json', JSON.stringify([dockerManifest])),
  ];
  writeFileSync(file, tar([...layout, ...blobs]));
  return { digest: manifest.digest, layers: packed.map(({ name, bytes }) => ({ name, bytes: bytes.length })) };
}

function configJson(
  { arch, created, config }: ImageConfig,
  layers: readonly { readonly name: string; readonly diffId: string }[],
): unknown {
  return {
    architecture: ARCHITECTURES[arch] ?? arch,
    os: 'linux',
    created,
    config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ name }) => ({ created, created_by: `cairn: ${name}` })),
  };
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function pathOf({ digest }: Blob): string {
  return blobPath(digest.slice(SHA256.length));
}

function blobPath(digest: string): string {
  return `blobs/sha256/${digest}`;
}

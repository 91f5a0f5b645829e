/** Images from OCI archives: each layer is a folder, and a container's root is an overlay of them. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../run.ts';

export interface Image {
  /** As pods name it. */
  readonly name: string;
  /** Folders, the topmost first. */
  readonly layers: readonly string[];
  readonly config: {
    /** `uid:gid`, by number. */
    readonly User?: string;
    readonly WorkingDir?: string;
    readonly Entrypoint?: readonly string[];
    readonly Cmd?: readonly string[];
    readonly Env?: readonly string[];
  };
}

interface Descriptor {
  readonly digest: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** Where archives name their image: as containerd, and as the specification has it. */
const NAMES = ['io.containerd.image.name', 'org.opencontainers.image.ref.name'];
/** Pods leave out what containerd adds. */
const LIBRARY = 'docker.io/library/';

/** Unpacks an archive into a folder below `dir`. @throws Error when it holds other than one image. */
export async function unpackImage(archive: string, dir: string): Promise<Image> {
  const blobs = join(dir, 'archive');
  mkdirSync(blobs, { recursive: true });
  await run('tar', '-xf', archive, '-C', blobs);
  const read = (path: string): string => readFileSync(join(blobs, path), 'utf8');
  const { manifests }: { readonly manifests: readonly Descriptor[] } = JSON.parse(read('index.json'));
  const [descriptor, ...others] = manifests;
  if (descriptor === undefined || others.length > 0)
    throw new Error(`${archive} holds ${manifests.length} images, not one`);
  const manifest: Manifest = JSON.parse(read(blobPath(descriptor.digest)));
  const { config }: { readonly config: Image['config'] } = JSON.parse(read(blobPath(manifest.config.digest)));
  const layers = manifest.layers.map(async ({ digest }) => {
    const folder = join(dir, digest.slice('sha256:'.length, 'sha256:'.length + 12));
    mkdirSync(folder);
    await run('tar', '-xpf', join(blobs, blobPath(digest)), '--numeric-owner', '-C', folder);
    return folder;
  });
  const [name = ''] = NAMES.flatMap((key) => descriptor.annotations?.[key] ?? []);
  return { name: name.replace(LIBRARY, ''), layers: (await Promise.all(layers)).toReversed(), config };
}

function blobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

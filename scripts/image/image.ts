/** The layers of the image, in the order of how seldom they change, and how a container of it starts. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerConfig, ImageConfig, Layer } from './archive.ts';
import { COMMAND, node, PROGRAM_FOLDER, packages, program } from './program.ts';
import { licenseList, sbom } from './sbom.ts';
import { DATA_FOLDER, debianSystem, USER } from './system.ts';
import { textFile } from './tar.ts';

const PORTS = [50_051, 50_052, 3000, 3001, 9464];

export interface Image {
  readonly layers: readonly Layer[];
  readonly config: ImageConfig;
  /** Bill of materials, which is in the image, too. */
  readonly sbom: string;
}

interface Labels extends Readonly<Record<string, string>> {
  readonly version: string;
  readonly created: string;
}

export interface ImageOptions {
  /** The folder of the bundle. */
  readonly dist: string;
  /** Without system and Node. */
  readonly isProgramOnly?: boolean;
}

export function imageOf(root: string, { dist, isProgramOnly = false }: ImageOptions): Image {
  const commit = readFileSync(join(dist, 'commit'), 'utf8').trim();
  const labels = labelsOf(root, commit);
  const { version, created } = labels;
  const below = isProgramOnly
    ? []
    : [
        { name: 'system', ...debianSystem(join(root, 'node_modules/.cache/image')) },
        { name: 'node', ...node(root) },
      ];
  const parts = [...below, { name: 'packages', ...packages(root) }];
  const software = parts.flatMap((part) => part.software);
  const materials = sbom({ version, commit, created }, software);
  const entries = [
    ...program(root, dist),
    textFile(`${PROGRAM_FOLDER.slice(1)}/cairn.cdx.json`, materials),
    textFile(`${PROGRAM_FOLDER.slice(1)}/THIRD-PARTY`, licenseList(software)),
  ];
  return {
    layers: [...parts, { name: 'cairn', entries }],
    sbom: materials,
    config: {
      name: 'cairn',
      version,
      created,
      arch: process.arch,
      config: containerConfig(labels),
    },
  };
}

/** Labels of the image; the Dockerfile has the same. */
export function labelsOf(root: string, commit: string): Labels {
  const { version, description }: { readonly version: string; readonly description: string } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  return { title: 'cairn', description, version, revision: commit, licenses: 'Apache-2.0', created: timeOf(root) };
}

/** Configuration of the image's containers; the Dockerfile has the same. */
export function containerConfig(labels: Readonly<Record<string, string>>): ContainerConfig {
  return {
    User: `${USER}:${USER}`,
    Env: [
      'PATH=/usr/local/bin:/usr/bin:/bin',
      'NODE_ENV=production',
      `CAIRN_DATA_DIR=${DATA_FOLDER}`,
      'CAIRN_HOST=0.0.0.0',
    ],
    Entrypoint: [COMMAND],
    WorkingDir: DATA_FOLDER,
    StopSignal: 'SIGTERM',
    ExposedPorts: Object.fromEntries(PORTS.map((port) => [`${port}/tcp`, {}])),
    Volumes: { [DATA_FOLDER]: {} },
    Labels: Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [`org.opencontainers.image.${name}`, value]),
    ),
  };
}

/** SOURCE_DATE_EPOCH, or the time of the commit, or that of no time where this is no checkout. */
function timeOf(root: string): string {
  const { status, stdout } = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' });
  const seconds = process.env['SOURCE_DATE_EPOCH'] ?? (status === 0 ? stdout : '0');
  return new Date(Number(seconds) * 1000).toISOString();
}

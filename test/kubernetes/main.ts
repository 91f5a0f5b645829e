/**
 * npm run kube: a Kubernetes cluster on this machine, with a real control plane, for as long as a command runs.
 *
 *   npm run kube [-- [--image FILE] [--nodes 3] [--keep] [COMMAND...]]
 *
 * COMMAND, or a shell, runs where pods, Services and the API server can be reached, with kubectl and helm on its path.
 * The image of Cairn is that of `npm run image`; --image takes another OCI archive, and may be repeated. With --keep
 * the logs stay. Needs root, and Debian's packages iproute2, nftables, runc and util-linux. DESIGN.md says what it can
 * do.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { removeDirectory } from '../../chaos/support/remove-directory.ts';
import { kubeBinaries } from '../../scripts/kube/binaries.ts';
import { readNumber, refuse } from '../../scripts/support/command-line.ts';
import { startControlPlane } from './control-plane.ts';
import { type Image, unpackImage } from './kubelet/images.ts';
import { Kubelet } from './kubelet/kubelet.ts';
import { serveKubelet } from './kubelet/server.ts';
import { startNetwork } from './network/network.ts';
import { dirInside, enterWorld, furnish } from './world.ts';

const IMAGE = resolve(import.meta.dirname, '../../dist-image/cairn.tar');
const ZONES = ['a', 'b', 'c'];

const { values, command } = readCommandLine(process.argv.slice(2));
const archives = values.image ?? [IMAGE];
const inside = dirInside();
if (inside === undefined) await outside();
else process.exit(await cluster(inside));

function readCommandLine(args: readonly string[]) {
  const options = {
    image: { type: 'string', multiple: true },
    nodes: { type: 'string', default: '3' },
    keep: { type: 'boolean', default: false },
  } as const;
  // What follows the first word that is no option belongs to the command.
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const first = tokens.find(({ kind }) => kind === 'positional' || kind === 'option-terminator');
  const at = first?.index ?? args.length;
  const rest = args.slice(first?.kind === 'option-terminator' ? at + 1 : at);
  try {
    return { values: parseArgs({ args: args.slice(0, at), options }).values, command: rest };
  } catch (error) {
    return refuse(String(error));
  }
}

async function outside(): Promise<void> {
  const missing = archives.find((path) => !existsSync(path));
  if (missing !== undefined) refuse(`there is no image ${missing}: npm run image makes it`);
  // Those that are missing are built before the world begins, in which there is no network.
  process.env['KUBE_BIN'] = kubeBinaries();
  const dir = mkdtempSync(join(tmpdir(), 'cairn-kube-'));
  process.exitCode = await enterWorld(import.meta.filename, process.argv.slice(2), dir);
  if (values.keep) process.stderr.write(`logs are in ${dir}\n`);
  else removeDirectory(dir);
}

async function cluster(dir: string): Promise<number> {
  const log = (line: string): void => {
    appendFileSync(join(dir, 'kubelet.log'), `${new Date().toISOString()} ${line}\n`);
  };
  await furnish(dir);
  const bin = kubeBinaries();
  const [plane, images] = await Promise.all([startControlPlane(bin, join(dir, 'control-plane')), unpackAll(dir)]);
  const { api, kubeconfig } = plane;
  const count = readNumber('nodes', values.nodes, { min: 1, isWhole: true });
  const names = Array.from({ length: count }, (_, place) => `node-${place + 1}`);
  const nodes = names.map((name, place) => ({ name, zone: ZONES[place % ZONES.length] ?? '' }));
  const { signal } = new AbortController();
  const kubelet = new Kubelet({ api, dir, nodes, images, log });
  await Promise.all([startNetwork({ api, log }, signal), kubelet.start(signal), serveKubelet(kubelet, plane)]);
  if (command.length === 0) sayWhatThereIs([...images.keys()], dir);
  const [program = process.env['SHELL'] ?? 'bash', ...args] = command;
  const [image = ''] = images.keys();
  const path = [bin, process.env['PATH']].join(delimiter);
  const env = { ...process.env, KUBECONFIG: kubeconfig, KUBE_DIR: dir, KUBE_IMAGE: image, PATH: path };
  const child = spawn(program, args, { stdio: 'inherit', env });
  child.on('error', (error) => process.stderr.write(`${program}: ${error.message}\n`));
  // A terminal sends its Ctrl-C to the command as well, and it is for that to end.
  process.on('SIGINT', () => undefined);
  const [code]: (number | null)[] = await once(child, 'close');
  return code ?? 1;
}

async function unpackAll(dir: string): Promise<ReadonlyMap<string, Image>> {
  const images = archives.map(async (archive, place) => {
    const folder = join(dir, 'images', String(place));
    mkdirSync(folder, { recursive: true });
    const image = await unpackImage(archive, folder);
    return [image.name, image] as const;
  });
  return new Map(await Promise.all(images));
}

function sayWhatThereIs(images: readonly string[], dir: string): void {
  process.stderr.write(
    `A cluster of Kubernetes with the image ${images.join(', ')}; exit ends it. Logs are in ${dir}.\n` +
      `From another terminal: nsenter --all --target=${process.ppid} --env\n`,
  );
}

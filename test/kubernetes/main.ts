/**
 * npm run kube: a Kubernetes cluster on this machine, with a real control plane, for as long as a command runs.
 *
 *   npm run kube [-- [--image FILE] [--nodes 3] [--lag 0] [--keep] [COMMAND...]]
 *
 * COMMAND, or a shell, runs where pods, Services and the API server can be reached, with kubectl and helm on its path.
 * The image of Cairn is that of `npm run image`; --image takes another archive, and may be repeated. With --lag,
 * Services follow their pods after so many seconds, or up to twice that. With --keep, the logs stay. Needs root, and
 * Debian's packages iproute2, nftables, runc and util-linux. DESIGN.md says what it can do.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { kubeBinaries } from '../../scripts/kube/binaries.ts';
import { readNumber, refuse } from '../../scripts/support/command-line.ts';
import { unpackImage } from '../image/archive.ts';
import { startControlPlane } from './control-plane.ts';
import { Kubelet } from './kubelet/kubelet.ts';
import { serveKubelet } from './kubelet/server.ts';
import { startNetwork } from './network/network.ts';
import { DIR_INSIDE, enterWorld, furnish } from './world.ts';

const IMAGE = resolve(import.meta.dirname, '../../dist-image/cairn.tar');
const ZONES = ['a', 'b', 'c'];
const OPTIONS = {
  image: { type: 'string', multiple: true },
  nodes: { type: 'string', default: '3' },
  lag: { type: 'string', default: '0' },
  keep: { type: 'boolean', default: false },
} as const;

const words = process.argv.slice(2);
const { tokens } = parseArgs({ options: OPTIONS, strict: false, allowPositionals: true, tokens: true });
// The command begins with the first argument that is not an option.
const optionCount = tokens.find(({ kind }) => kind !== 'option')?.index ?? words.length;
const { values } = parseArgs({ args: words.slice(0, optionCount), options: OPTIONS });
const command = words.slice(optionCount);
const archives = values.image ?? [IMAGE];
if (DIR_INSIDE === undefined) await outside();
else process.exit(await cluster(DIR_INSIDE));

async function outside(): Promise<void> {
  const missing = archives.find((path) => !existsSync(path));
  if (missing !== undefined) refuse(`there is no image ${missing}: npm run image makes it`);
  // Missing programs are built here, because the cluster has no access to the network outside.
  process.env['KUBE_BIN'] = kubeBinaries();
  process.exitCode = await enterWorld(process.argv.slice(1), { isKept: values.keep });
}

async function cluster(dir: string): Promise<number> {
  const log = (line: string): void => appendFileSync(join(dir, 'kubelet.log'), `${new Date().toISOString()} ${line}\n`);
  const count = readNumber('nodes', values.nodes, { min: 1, isWhole: true });
  const lagMs = 1000 * readNumber('lag', values.lag, { min: 0, isWhole: false });
  await furnish(dir);
  const bin = kubeBinaries();
  const starting = startControlPlane(bin, join(dir, 'control-plane'));
  const unpacked = archives.map((archive, place) => unpackImage(archive, join(dir, `image-${place}`)));
  const images = new Map(unpacked.map((image) => [image.name, image]));
  const plane = await starting;
  const { api, kubeconfig } = plane;
  const zones = Array.from({ length: count }, (_, place) => ZONES[place % ZONES.length] ?? '');
  const nodes = new Map(zones.map((zone, place) => [`node-${place + 1}`, zone]));
  const kubelet = new Kubelet({ api, log, dir, images });
  await Promise.all([startNetwork({ api, log }, lagMs), kubelet.start(nodes), serveKubelet(kubelet, plane)]);
  const [image] = images.keys();
  const path = [bin, process.env['PATH']].join(delimiter);
  if (command.length === 0) process.stderr.write(`The cluster has the image ${image}; exit ends it.\n`);
  const [program = process.env['SHELL'] ?? 'bash', ...args] = command;
  const env = { ...process.env, KUBECONFIG: kubeconfig, KUBE_DIR: dir, KUBE_IMAGE: image, PATH: path };
  const child = spawn(program, args, { stdio: 'inherit', env });
  // A terminal sends its Ctrl-C to the command as well, and the command decides when to end.
  process.on('SIGINT', () => undefined);
  const [code]: (number | null)[] = await once(child, 'close');
  return code ?? 1;
}

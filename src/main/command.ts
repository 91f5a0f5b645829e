/** Dispatches the command `cairn` to its subcommands, and sets the exit code. */
import type { AskAdmin } from '#cluster';
import type { AuthPorts } from './commands/auth-command.ts';
import type { ClientFiles } from './commands/cluster/cluster-arguments.ts';
import type { RecoverAsking } from './commands/recovery/recover-command.ts';
import { RELEASE } from './process/release.ts';
import type { StopSignals } from './process/stop-signals.ts';
import { readInvocation } from './settings/config.ts';
import { renderHelp } from './settings/help.ts';
import type { Config } from './settings/settings.ts';
import type { PeerTlsFiles } from './tls/peer-tls.ts';

/** Commands for authors of components. */
const TOOL_COMMANDS: readonly string[] = ['init', 'build', 'test', 'publish'];
const EXIT_CANNOT_SAY = 1;
const EXIT_USAGE = 2;

export async function runCommand(signals: StopSignals): Promise<void> {
  const [first, ...rest] = process.argv.slice(2);
  const isTool = first !== undefined && TOOL_COMMANDS.includes(first);
  const command = first === undefined ? undefined : COMMANDS.get(first);
  if (command !== undefined || isTool) signals.close();
  if (isTool) {
    const { toolCommand } = await import('./commands/tool-command.ts');
    process.exitCode = await toolCommand([first, ...rest], (text) => process.stderr.write(text));
    return;
  }
  if (command !== undefined) return command(rest);
  const invocation = readInvocation(process.argv.slice(2), process.env);
  if (invocation.kind === 'failure') {
    for (const fault of invocation.reason) process.stderr.write(`cairn: ${fault}\n`);
    process.exitCode = EXIT_USAGE;
    return;
  }
  switch (invocation.value.kind) {
    case 'help':
      say(renderHelp());
      break;
    case 'version':
      say(`${RELEASE}\n`);
      break;
    case 'run':
      await run(invocation.value.config, signals);
      break;
  }
}

const OUTPUT = { out: say, err: (text: string): unknown => process.stderr.write(text) };

/** Sends admin requests to a running cluster. */
async function administrate(args: readonly string[]): Promise<void> {
  const { clusterCommand } = await import('./commands/cluster/cluster-command.ts');
  const { askAdmin, askAdminAsClient } = await import('#transport/peer');
  const { readClientAccess } = await import('./commands/cluster/client-access.ts');
  const { readPeerTls } = await import('./tls/peer-tls.ts');
  const askSecurely = (files: PeerTlsFiles): AskAdmin => {
    const tls = readPeerTls(files);
    return (...question) => askAdmin(...question, tls);
  };
  const askAsClient = (files: ClientFiles): AskAdmin => {
    const access = readClientAccess(files);
    return (address, request, timeoutMs) => askAdminAsClient(address, request, { timeoutMs, ...access });
  };
  const ports = { ask: askAdmin, askSecurely, askAsClient, ...OUTPUT, environment: process.env };
  process.exitCode = await clusterCommand(args, ports);
}

/** Calls the HTTP API of a running node. */
async function authorise(args: readonly string[]): Promise<void> {
  const { authCommand } = await import('./commands/auth-command.ts');
  process.exitCode = await authCommand(args, await clientPorts());
}

/** Reads from the HTTP API of a running node, or writes to it. */
async function transfer(name: 'export' | 'import', args: readonly string[]): Promise<void> {
  const { transferCommand } = await import('./commands/transfer/transfer-command.ts');
  const { createReadStream } = await import('node:fs');
  const { setTimeout: sleep } = await import('node:timers/promises');
  // The command fails with the error of its write.
  process.stdout.on('error', () => undefined);
  const write = (text: string): Promise<void> =>
    new Promise((done, fail) => process.stdout.write(text, (error) => (error ? fail(error) : done())));
  const input = (file: string): AsyncIterable<Uint8Array> => (file === '-' ? process.stdin : createReadStream(file));
  const isTerminal = process.stderr.isTTY;
  process.exitCode = await transferCommand(name, args, { ...(await clientPorts()), isTerminal, sleep, write, input });
}

async function clientPorts(): Promise<AuthPorts> {
  const { readFileSync } = await import('node:fs');
  const read = (file: string): string => readFileSync(file === '-' ? 0 : file, 'utf8');
  const { getCACertificates, setDefaultCACertificates } = process.getBuiltinModule('node:tls');
  const { certificatesIn } = await import('./tls/tls-files.ts');
  const trust = (content: string, file: string): void => {
    const authorities = certificatesIn(content, file, '--tls-ca-file').map(String);
    setDefaultCACertificates([...getCACertificates(), ...authorities]);
  };
  return { fetch, read, trust, nowMs: () => Date.now(), ...OUTPUT };
}

/** Works on the data directory of a stopped node. */
async function recover(args: readonly string[]): Promise<void> {
  const { recoverCommand } = await import('./commands/recovery/recover-command.ts');
  const { askForCluster, refusalAt } = await import('#transport/peer');
  const { readPeerTls } = await import('./tls/peer-tls.ts');
  const asking = (files: PeerTlsFiles | undefined): RecoverAsking => {
    const tls = files && readPeerTls(files);
    return {
      askForCluster: (...question) => askForCluster(...question, tls),
      refusalAt: (address) => refusalAt(address, tls),
    };
  };
  process.exitCode = await recoverCommand(args, { asking, ...OUTPUT, environment: process.env });
}

/** Works on the data directory of a removed node. */
async function rejoin(args: readonly string[]): Promise<void> {
  const { rejoinCommand } = await import('./commands/recovery/rejoin-command.ts');
  process.exitCode = await rejoinCommand(args, { ...OUTPUT, environment: process.env });
}

/** Works on the data directory of a stopped node. */
async function backUp(args: readonly string[]): Promise<void> {
  const { backupCommand } = await import('./commands/backup/backup-command.ts');
  process.exitCode = await backupCommand(args, { ...OUTPUT, environment: process.env });
}

/** Makes the data directory of a new node. */
async function restore(args: readonly string[]): Promise<void> {
  const { restoreCommand } = await import('./commands/backup/restore-command.ts');
  process.exitCode = await restoreCommand(args, { ...OUTPUT, environment: process.env });
}

/** Commands for operators. */
const COMMANDS: ReadonlyMap<string, (args: readonly string[]) => Promise<void>> = new Map([
  ['cluster', administrate],
  ['auth', authorise],
  ['recover', recover],
  ['rejoin', rejoin],
  ['backup', backUp],
  ['restore', restore],
  ['export', (args) => transfer('export', args)],
  ['import', (args) => transfer('import', args)],
]);

/** Loads the server only here, so that `--help` does not wait for it. */
async function run(config: Config, signals: StopSignals): Promise<void> {
  const { serve } = await import('./node/serve.ts');
  await serve(config, signals);
}

/** Writes to stdout. A reader that has closed the pipe is no error. */
function say(text: string): void {
  process.stdout.once('error', (error: Error) => {
    if ('code' in error && error.code === 'EPIPE') return;
    process.stderr.write(`cairn: stdout cannot be written: ${error.message}\n`);
    process.exitCode = EXIT_CANNOT_SAY;
  });
  process.stdout.write(text);
}

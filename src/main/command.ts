/** Dispatches the command `cairn` to its subcommands, and sets the exit code. */
import type { AskAdmin } from '#cluster';
import type { AuthPorts } from './commands/auth-command.ts';
import type { ClientFiles } from './commands/cluster/cluster-arguments.ts';
import type { RecoverAsking } from './commands/recovery/recover-command.ts';
import { refuseUsage } from './process/refusals.ts';
import { RELEASE } from './process/release.ts';
import type { StopSignals } from './process/stop-signals.ts';
import { readInvocation } from './settings/config.ts';
import { renderHelp } from './settings/help.ts';
import type { PeerTlsFiles } from './tls/peer-tls.ts';

const EXIT_CANNOT_SAY = 1;
const PORTS = { out: say, err: (text: string): unknown => process.stderr.write(text), environment: process.env };

/** Runs a command of COMMANDS or else a node. The server is loaded only here, so that `--help` does not wait for it. */
export async function runCommand(signals: StopSignals): Promise<void> {
  const [first = '', ...rest] = process.argv.slice(2);
  const command = COMMANDS.get(first);
  if (command !== undefined) {
    signals.close();
    process.exitCode = await command(rest);
    return;
  }
  const invocation = readInvocation(process.argv.slice(2), process.env);
  if (invocation.kind === 'failure') {
    process.exitCode = refuseUsage('cairn', invocation.reason, PORTS.err);
    return;
  }
  switch (invocation.value.kind) {
    case 'help':
      say(renderHelp());
      break;
    case 'version':
      say(`${RELEASE}\n`);
      break;
    case 'run': {
      const { serve } = await import('./node/serve.ts');
      await serve(invocation.value.config, signals);
    }
  }
}

/** Runs a command with these arguments. @returns the exit code */
type Run = (args: readonly string[]) => Promise<number>;

/** Sends admin requests to a running cluster. */
const administrate: Run = async (args) => {
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
  return clusterCommand(args, { ask: askAdmin, askSecurely, askAsClient, ...PORTS });
};

/** Reads from the HTTP API of a running node, or writes to it. */
async function transfer(name: 'export' | 'import', args: readonly string[]): Promise<number> {
  const { transferCommand } = await import('./commands/transfer/transfer-command.ts');
  const { createReadStream } = await import('node:fs');
  const { setTimeout: sleep } = await import('node:timers/promises');
  // The command fails with the error of its write.
  process.stdout.on('error', () => undefined);
  const write = (text: string): Promise<void> =>
    new Promise((done, fail) => process.stdout.write(text, (error) => (error ? fail(error) : done())));
  const input = (file: string): AsyncIterable<Uint8Array> => (file === '-' ? process.stdin : createReadStream(file));
  const isTerminal = process.stderr.isTTY;
  return transferCommand(name, args, { ...(await clientPorts()), isTerminal, sleep, write, input });
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
  return { fetch, read, trust, nowMs: () => Date.now(), ...PORTS };
}

/** Works on the data directory of a stopped node. */
const recover: Run = async (args) => {
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
  return recoverCommand(args, { asking, ...PORTS });
};

/** Commands for authors of components. */
const TOOLS = ['init', 'build', 'test', 'publish'].map((name): [string, Run] => [
  name,
  async (args) => (await import('./commands/tool-command.ts')).toolCommand([name, ...args], PORTS.err),
]);

/** Commands for operators. */
const COMMANDS: ReadonlyMap<string, Run> = new Map<string, Run>([
  ['cluster', administrate],
  ['auth', async (args) => (await import('./commands/auth-command.ts')).authCommand(args, await clientPorts())],
  ['recover', recover],
  ['rejoin', async (args) => (await import('./commands/recovery/rejoin-command.ts')).rejoinCommand(args, PORTS)],
  ['backup', async (args) => (await import('./commands/backup/backup-command.ts')).backupCommand(args, PORTS)],
  ['restore', async (args) => (await import('./commands/backup/restore-command.ts')).restoreCommand(args, PORTS)],
  ['export', (args) => transfer('export', args)],
  ['import', (args) => transfer('import', args)],
  ...TOOLS,
]);

/** Writes to stdout. A reader that has closed the pipe is no error. */
function say(text: string): void {
  process.stdout.once('error', (error: Error) => {
    if ('code' in error && error.code === 'EPIPE') return;
    process.stderr.write(`cairn: stdout cannot be written: ${error.message}\n`);
    process.exitCode = EXIT_CANNOT_SAY;
  });
  process.stdout.write(text);
}

/** The settings as people read them: the help text of the command, and docs/configuration.md. */
import { flagName, variableName } from './setting.ts';
import { buildConfig } from './settings.ts';

export function renderHelp(): string {
  const lines = documentedSettings().map(({ key, setting, defaultText }) => {
    const flag = `  --${flagName(key)} VALUE`;
    return `${flag.padEnd(36)}${setting.help}\n${' '.repeat(36)}${setting.type.expects}; default ${defaultText}`;
  });
  return `Usage: cairn [--name value]...
       cairn cluster COMMAND              What an operator asks of a cluster; cairn cluster --help shows it.
       cairn auth key COMMAND             Issues and revokes API keys; cairn auth --help shows it.
       cairn recover --data-dir DIRECTORY Goes on with a node that is left of a cluster; cairn recover --help says how.
       cairn rejoin --data-dir DIRECTORY  Has a removed node join as a new one; cairn rejoin --help says how.

Starts one node. Every setting can also be given as a variable: --grpc-port as CAIRN_GRPC_PORT; a flag wins.
When the node is ready it prints one line of JSON to stdout; logs go to stderr.

${lines.join('\n')}
  --help                            Prints this.
  --version                         Prints the release.
`;
}

export function renderConfigReference(): string {
  const rows = documentedSettings().map(({ key, setting, defaultText }) => {
    const names = `\`--${flagName(key)}\`<br>\`${variableName(key)}\``;
    return `| ${names} | \`${defaultText}\` | ${setting.type.expects} | ${setting.help} |`;
  });
  return `# Configuration

Every setting is a flag and a variable of the same name; a flag wins over a variable, a variable over the default.
An empty variable counts as not set. Settings are read once, at the start. An unknown or malformed one is reported on
stderr, also a variable that a flag overrides, and so are two that do not go together, such as two servers with one port; all
of them at once, and the process ends with exit code 2. Variables that Kubernetes adds for a Service named \`cairn\` are not
settings and are ignored.

| setting | default | value | meaning |
|---|---|---|---|
${rows.join('\n')}

## How the process ends

| exit code | when | what stderr says |
|---|---|---|
| 0 | It was told to stop, by SIGTERM or SIGINT, and has drained, or had opened nothing yet. Also after \`--help\` and \`--version\`. | \`stopped\` |
| 1 | It cannot start: the data directory is in use, damaged, or not to be written in; an address is taken. | \`cannot-start\` with a message; \`log-level=debug\` adds the stack |
| 1 | It was not drained 15 s after \`shutdown-grace-ms\`, because a disk stands still or the like; or SIGINT came once more while it drained. Nothing that was acknowledged is lost. | \`stopped-without-drain\` |
| 2 | A setting is unknown or malformed, or two do not go together; or the data directory is empty and neither \`join\` nor \`bootstrap\` says where the node belongs. Nothing was opened. | a line for each, or \`cannot-start\` |
| 70 | Something broke that must not continue: a failed write, damaged data, a bug. The next start recovers. | \`fatal\` with the stack |
| 74 | It cannot start because the disk of the data directory is full. | \`cannot-start\` with the reason \`DiskFull\` |

A signal that comes before the program itself runs, in the first moments of Node, ends the process as any other; nothing is
open then.

A process that ends with 1, 2 or 74 before it was ready ends the same way at each start, until its settings, its data or its disk are changed.

## How many connections a node takes

By its limit of open files (\`ulimit -n\`, \`LimitNOFILE\`), which Node raises to the hard one; there is no setting
([ADR 0015](adr/0015-admission-and-client-memory.md)). One more has the place of the one that has waited longest
for a whole request, at the same port or, if that has not its share, at one with more
([ADR 0015](adr/0015-admission-and-client-memory.md)); \`cairn_connections_displaced_total\` counts those.
While all are being answered it is closed as it comes, and counted in
\`cairn_connections_closed_total\`; for HTTP and gRPC a line \`connection-closed\` of the log says which bound it was.

| for | the most | with 1,024 files | with 1,024, without peer-port |
|---|---|---|---|
| log and store | 128 | 128 | 128 |
| metrics | 32, or an eighth of what is left of the limit | 32 | 32 |
| other nodes, half of them dialled by this one | 512, or a quarter | 224 | 0 |
| clients of gRPC and HTTP together | the rest | 640 | 864 |
| clients of one of the two | three quarters of that; of HTTP 4,096 at most | 480 | 648 |

This page is generated from \`src/main/settings.ts\` by \`npm run docs\`.
`;
}

interface DocumentedSetting {
  readonly key: string;
  readonly setting: { readonly type: { readonly expects: string }; readonly help: string };
  readonly defaultText: string;
}

function documentedSettings(): readonly DocumentedSetting[] {
  const documented: DocumentedSetting[] = [];
  buildConfig((key, setting) => {
    documented.push({ key, setting, defaultText: setting.type.write(setting.default) });
    return setting.default;
  });
  return documented;
}

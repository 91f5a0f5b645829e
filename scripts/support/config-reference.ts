/** docs/configuration.md: every setting, how the process ends, and the number of connections. */
import { documentedSettings } from '../../src/main/settings/help.ts';
import { flagName, variableName } from '../../src/main/settings/setting.ts';

export function renderConfigReference(): string {
  const rows = documentedSettings().map(({ key, setting, defaultText }) => {
    const names = `\`--${flagName(key)}\`<br>\`${variableName(key)}\``;
    return `| ${names} | \`${defaultText}\` | ${setting.type.expects} | ${setting.help} |`;
  });
  return `# Configuration

Every setting is a flag and an environment variable of the same name. A flag overrides a variable, and a variable overrides
the default. An empty variable counts as not set. Settings are read once, at startup. Unknown and malformed settings are
reported on stderr, also variables that a flag overrides. So are settings that contradict each other, such as two servers
with one port. The node reports all faults at once and exits with code 2. Variables that Kubernetes adds for a Service named
\`cairn\` are ignored.

| setting | default | value | meaning |
|---|---|---|---|
${rows.join('\n')}

## How the process ends

| exit code | when | what stderr says |
|---|---|---|
| 0 | The node received SIGTERM or SIGINT and has drained, or had not opened anything yet. Also after \`--help\` and \`--version\`. | \`stopped\` |
| 1 | The node cannot start: the data directory is in use, damaged or not writable, or an address is in use. | \`cannot-start\` with a message; \`log-level=debug\` adds the stack |
| 1 | The node had not drained 15 s after \`shutdown-grace-ms\`, for example because a disk hangs; or it received SIGINT again while it drained. No acknowledged write is lost. | \`stopped-without-drain\` |
| 2 | A setting is unknown or malformed, or settings contradict each other; or the data directory is empty and neither \`join\` nor \`bootstrap\` is set. Nothing was opened. | one line per fault, or \`cannot-start\` |
| 70 | A fatal error: a failed write, damaged data or a bug. The next start recovers. | \`fatal\` with the stack |
| 74 | The node cannot start because the disk of the data directory is full. | \`cannot-start\` with the reason \`DiskFull\` |
| 78 | Another process runs with the data directory of this node, or with a copy of it. | \`fatal\` with the reason \`DuplicateProcess\` |

A signal that arrives while Node.js itself starts ends the process as usual; nothing is open then.

A process that exits with 1, 2 or 74 before it is ready exits the same way at each start, until its settings, its data or its
disk change.

## How many connections a node takes

By its limit of open files (\`ulimit -n\`, \`LimitNOFILE\`), which Node raises to the hard one; there is no setting
([ADR 0015](adr/0015-admission-and-client-memory.md)). One more has the place of the one that has waited longest
for a whole request, at the same port or, if that has not its share, at one with more
([ADR 0015](adr/0015-admission-and-client-memory.md)); \`cairn_connections_displaced_total\` counts those.
While all are being answered it is closed as it comes, and counted in
\`cairn_connections_closed_total\`; for HTTP and gRPC a line \`connection-closed\` of the log says which bound it was.

| for | the most | with 1,024 files | with 1,024, without peer-port |
|---|---|---|---|
| log and store | 108, and an eighth of the limit or 256 | 236 | 236 |
| metrics | 32, or an eighth of what is left of the limit | 32 | 32 |
| other nodes, half of them dialled by this one | 512, or a quarter | 197 | 0 |
| clients of gRPC and HTTP together | the rest | 559 | 756 |
| clients of one of the two | three quarters of that; of HTTP 4,096 at most | 419 | 567 |

This page is generated from \`src/main/settings/settings.ts\` by \`npm run docs\`.
`;
}

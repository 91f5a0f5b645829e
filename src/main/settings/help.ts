/** Renders the help text of the command. */
import { flagName } from './setting.ts';
import { buildConfig } from './settings.ts';

export function renderHelp(): string {
  const lines = documentedSettings().map(({ key, setting, defaultText }) => {
    const flag = `  --${flagName(key)} VALUE`;
    return `${flag.padEnd(36)}${setting.help}\n${' '.repeat(36)}${setting.type.expects}; default ${defaultText}`;
  });
  return `Usage: cairn [--name value]...
       cairn cluster COMMAND              Administers a running cluster; see cairn cluster --help.
       cairn auth key COMMAND             Issues and revokes API keys; see cairn auth --help.
       cairn recover --data-dir DIRECTORY Founds a cluster from one surviving node; see cairn recover --help.
       cairn rejoin --data-dir DIRECTORY  Lets a removed node join as a new one; see cairn rejoin --help.
       cairn backup --data-dir DIRECTORY  Archives the databases of a stopped node; see cairn backup --help.
       cairn restore --from DIRECTORY     Founds a cluster from an archive; see cairn restore --help.
       cairn export --database NAME       Writes the events of a database as lines of JSON; see cairn export --help.
       cairn import --database NAME       Commits events from lines of JSON; see cairn import --help.

Starts one node. Every setting is also an environment variable: --grpc-port is CAIRN_GRPC_PORT. A flag overrides a
variable. When the node is ready, it prints one line of JSON to stdout. Logs go to stderr.

${lines.join('\n')}
  --help                            Prints this text.
  --version                         Prints the release.
`;
}

export interface DocumentedSetting {
  readonly key: string;
  readonly setting: { readonly type: { readonly expects: string }; readonly help: string };
  readonly defaultText: string;
}

/** All settings, in the order of the help text. */
export function documentedSettings(): readonly DocumentedSetting[] {
  const documented: DocumentedSetting[] = [];
  buildConfig((key, setting) => {
    documented.push({ key, setting, defaultText: setting.type.write(setting.default) });
    return setting.default;
  });
  return documented;
}

/**
 * The commands for component authors: `cairn init`, `cairn build`, `cairn test`, `cairn publish`.
 *
 * For: a project of one component, from its first file to a version in a database. They run from the sources of a
 * checkout, which has the SDK, the kit and the toolchain; the command `cairn` calls them (src/main).
 *
 * Exit code 0: success. 1: failure, explained on stderr. 2: the command line is malformed.
 */
import { build } from './build.ts';
import { messageOf, ToolError, UsageError } from './failures.ts';
import { init } from './init.ts';
import { publish } from './publish.ts';
import { test } from './test.ts';

const HELP = `Usage: cairn init KIND [FOLDER]       a project of a state-view, a state-change or a presenter
       cairn build [FOLDER | MODULE.ts | CORE-MODULE.wasm] [--out COMPONENT.wasm]
       cairn test [FOLDER]            builds it, and runs its tests as plain code and as what was built
       cairn publish [FOLDER | COMPONENT.wasm] --database NAME [--url http://127.0.0.1:3000]
                     [--definition definition.json] [--name NAME]

FOLDER is the current one unless it is named. What was built of the same source is left as it is, and the same component
with the same definition is the same version. docs/components.md says what a component is.
`;

type Command = (args: readonly string[], base: string, say: (text: string) => void) => void | Promise<void>;

const COMMANDS: ReadonlyMap<string, Command> = new Map(Object.entries({ init, build, test, publish }));

const [name = '', ...args] = process.argv.slice(2);
process.exitCode = await run(name, args);

async function run(command: string, rest: readonly string[]): Promise<number> {
  const work = COMMANDS.get(command);
  if (work === undefined || rest.includes('--help')) {
    process.stdout.write(HELP);
    return work === undefined ? 2 : 0;
  }
  try {
    await work(rest, baseOf(process.env), (text) => process.stdout.write(text));
    return 0;
  } catch (error) {
    if (!(error instanceof ToolError || error instanceof UsageError)) throw error;
    process.stderr.write(`cairn ${command}: ${messageOf(error)}\n`);
    if (error instanceof ToolError) return 1;
    process.stderr.write(`cairn ${command} --help shows what there is.\n`);
    return 2;
  }
}

/** `npm start -- …` runs in the checkout, whatever the current folder of the user. */
function baseOf({ npm_lifecycle_event: event, INIT_CWD: folder }: NodeJS.ProcessEnv): string {
  return event === 'start' && folder !== undefined ? folder : process.cwd();
}

/**
 * `cairn rejoin`: lets a node that was removed from its cluster join again as a new node, on the same volume.
 *
 * Exit code 0: done. 1: refused; the reason is on stderr. 2: the command line is malformed.
 */
import { optionFaults } from './option-faults.ts';
import { isRefusal } from './refusal.ts';
import { setAside } from './removed-node.ts';

// An import would also load the lazy parts of the module, such as its text comparison for tests.
const { parseArgs } = process.getBuiltinModule('node:util');

const EXIT_REFUSED = 1;
const EXIT_USAGE = 2;
const VARIABLE = 'CAIRN_DATA_DIR';
const OPTIONS = { 'data-dir': { type: 'string' } } as const;

const REJOIN_HELP = `Usage: cairn rejoin --data-dir DIRECTORY

Moves the data of a node that was removed from its cluster into DIRECTORY/removed.1, or the next free number. Restart the
node afterwards with --join: it joins as a new node. The node may be running: a removed node only waits.

  --data-dir DIRECTORY    Data directory of the node; also as the variable ${VARIABLE}.

Refused unless the node was started on this directory after its removal.
`;

interface RejoinPorts {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Runs the command. @returns the exit code */
export async function rejoinCommand(args: readonly string[], { out, err, environment }: RejoinPorts): Promise<number> {
  if (args.includes('--help')) {
    out(REJOIN_HELP);
    return 0;
  }
  const faults = optionFaults(args, OPTIONS);
  const { values } = parseArgs({ args: [...args], options: OPTIONS, strict: false });
  const { 'data-dir': directory = environment[VARIABLE] } = values;
  if (faults.length > 0 || typeof directory !== 'string' || directory === '') {
    const missing = '--data-dir is missing; name the data directory of the removed node';
    for (const fault of faults.length > 0 ? faults : [missing]) err(`cairn rejoin: ${fault}\n`);
    return EXIT_USAGE;
  }
  try {
    out(`The old data is in ${await setAside(directory)}. Restart the node: it joins as a new one.\n`);
    return 0;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    err(`cairn rejoin: ${error.message}\n`);
    return EXIT_REFUSED;
  }
}

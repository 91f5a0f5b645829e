/**
 * `cairn rejoin`: lets a node that was removed from its cluster join again as a new node, on the same volume.
 *
 * Exit code 0: done. 1: refused; the reason is on stderr. 2: the command line is malformed.
 */
import { isRefusal } from './command-output.ts';
import { EXIT_USAGE, readOptions } from './option-faults.ts';
import { setAside } from './removed-node.ts';

const EXIT_REFUSED = 1;
const VARIABLE = 'CAIRN_DATA_DIR';

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
  const given = readOptions(args, { 'data-dir': { type: 'string' } });
  const directory = given.kind === 'failure' ? '' : (given.value.values['data-dir'] ?? environment[VARIABLE] ?? '');
  if (directory === '') {
    const missing = '--data-dir is missing; name the data directory of the removed node';
    for (const fault of given.kind === 'failure' ? given.reason : [missing]) err(`cairn rejoin: ${fault}\n`);
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

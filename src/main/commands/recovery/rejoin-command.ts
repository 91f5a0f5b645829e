/**
 * `cairn rejoin`: lets a node that was removed from its cluster join again as a new node, on the same volume.
 *
 * Exit code 0: done. 1: refused; the reason is on stderr. 2: the command line is malformed.
 */
import { setAside } from '../../node/removed-node.ts';
import { type CommandPorts, runCommandLine } from '../command-line.ts';
import { DATA_DIR_VARIABLE } from '../options.ts';

const REJOIN_HELP = `Usage: cairn rejoin --data-dir DIRECTORY

Moves the data of a node that was removed from its cluster into DIRECTORY/removed.1, or the next free number. Restart the
node afterwards with --join: it joins as a new node. The node may be running: a removed node only waits.

  --data-dir DIRECTORY    Data directory of the node; also as the variable ${DATA_DIR_VARIABLE}.

Refused unless the node was started on this directory after its removal.
`;

const REJOIN = {
  name: 'rejoin',
  help: REJOIN_HELP,
  options: { 'data-dir': { type: 'string' } },
  required: { 'data-dir': 'name the data directory of the removed node' },
} as const;

/** Runs the command. @returns the exit code */
export function rejoinCommand(args: readonly string[], ports: CommandPorts): Promise<number> {
  return runCommandLine(REJOIN, args, ports, async ({ 'data-dir': directory }) => {
    ports.out(`The old data is in ${await setAside(directory)}. Restart the node: it joins as a new one.\n`);
    return 0;
  });
}

/** Commands of the system. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const OUTPUT_BYTES_MAX = 64 << 20;

/** Runs a command to its end and answers its standard output. @throws Error with what it wrote to standard error. */
export async function run(command: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await execute(command, [...args], { maxBuffer: OUTPUT_BYTES_MAX });
  return stdout;
}

/** The same, with `input` at its standard input. */
export async function feed(input: string, command: string, ...args: readonly string[]): Promise<string> {
  const running = execute(command, [...args], { maxBuffer: OUTPUT_BYTES_MAX });
  // A command that ends before it has read everything says why by its exit code.
  running.child.stdin?.on('error', () => undefined).end(input);
  return (await running).stdout;
}

/** For what may be gone already; whether it succeeded. */
export function attempt(command: string, ...args: readonly string[]): Promise<boolean> {
  return run(command, ...args).then(
    () => true,
    () => false,
  );
}

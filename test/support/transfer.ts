// Runs `cairn export` and `cairn import` in this process, with requests that fail where a test wants it.
import { createReadStream, readFileSync } from 'node:fs';
import { transferCommand } from '../../src/main/commands/transfer/transfer-command.ts';

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Cut: the request does not arrive. Lost: the reply does not. */
export type Fate = 'sent' | 'cut' | 'lost';

/** `send` is called before each request of the command. */
export type RunTransfer = (line: string, send?: (count: number) => Fate | Promise<Fate>) => Promise<Ran>;

export function transferWith(url: string): RunTransfer {
  return async (line, send = () => 'sent') => {
    let [out, err, count] = ['', '', 0];
    const [name, ...args] = line.split(' ');
    const code = await transferCommand(name === 'export' ? 'export' : 'import', ['--url', url, ...args], {
      fetch: async (...request) => {
        const fate = await send(++count);
        const reply = fate === 'cut' ? undefined : await fetch(...request);
        if (fate === 'sent' && reply !== undefined) return reply;
        throw new Error(fate);
      },
      read: (path) => readFileSync(path, 'utf8'),
      trust: () => undefined,
      sleep: () => Promise.resolve(),
      nowMs: () => 0,
      isTerminal: false,
      write: async (text) => void (out += text),
      input: (path) => createReadStream(path, { highWaterMark: 100 }),
      out: (text) => void (out += text),
      err: (text) => void (err += text),
    });
    return { code, out, err };
  };
}

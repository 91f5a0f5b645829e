/** An attack in a process of the lowest priority, from its start to `stop`. */
import { text } from 'node:stream/consumers';
import type { Addresses, Attack, Port } from './attack-list.ts';
import type { AttackCounts } from './attacker-child.ts';
import { cpuSeconds } from './process-cpu.ts';
import { launch, stopProcess } from './server-process.ts';

const SCRIPT = new URL('attacker-child.ts', import.meta.url).pathname;

export interface AttackCost extends AttackCounts {
  readonly cpuSeconds: number;
}

export class RunningAttack {
  readonly #child: ReturnType<typeof launch>;
  readonly #printed: Promise<string>;

  /** `directory` names the process for the case that the benchmark is interrupted. */
  constructor(directory: string, attack: Attack, port: Port, at: Addresses) {
    const args = ['-n', '19', process.execPath, '--conditions=source', SCRIPT, attack.name, port, JSON.stringify(at)];
    this.#child = launch(directory, 'nice', { args, stdio: ['ignore', 'pipe', 'inherit'] });
    const { stdout } = this.#child;
    this.#printed = stdout === null ? Promise.resolve('') : text(stdout);
  }

  /** Ends it; its connections are closed. */
  async stop(): Promise<AttackCost> {
    const used = cpuSeconds([this.#child.pid ?? 0]);
    await stopProcess(this.#child);
    const counts: AttackCounts = JSON.parse(await this.#printed);
    return { ...counts, cpuSeconds: used };
  }
}

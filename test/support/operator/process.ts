// A process of the operator that a test can kill: at a chosen request it stops permanently, before or after the request
// is executed.
import {
  Api,
  type Controller,
  ControllerLoop,
  type Pass,
  type Source,
  type Transport,
} from '../../../operator/src/kube/index.ts';
import type { MemoryApi } from '../kube-api/memory-api.ts';
import type { ManualRuntime } from '../manual-runtime.ts';

export class OperatorProcess {
  readonly api: Api;
  readonly passes: Pass[] = [];
  readonly #over = new AbortController();
  readonly #runtime: ManualRuntime;
  /** Requests until the process is killed. */
  #left = Number.POSITIVE_INFINITY;

  constructor(runtime: ManualRuntime, server: MemoryApi) {
    this.#runtime = runtime;
    const transport: Transport = {
      send: (request) =>
        request.method === 'GET' ? this.#alive(() => server.send(request)) : this.step(() => server.send(request)),
    };
    this.api = new Api(transport, runtime);
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Kills the process after this number of further writes. */
  killAfter(writes: number): void {
    this.#left = writes;
    if (writes === 0) this.#over.abort();
  }

  run<Observed, Action>(controller: Controller<Observed, Action> & { readonly sources: readonly Source[] }): void {
    const onPass = (pass: Pass): void => void this.passes.push(pass);
    const loop = new ControllerLoop(controller, { runtime: this.#runtime, mayAct: () => !this.signal.aborted, onPass });
    void loop.run(controller.sources, this.signal);
  }

  /** Executes a write, unless the process is dead or dies before it; it may die after it, too. */
  async step<Answer>(write: () => Promise<Answer>): Promise<Answer> {
    this.#left -= 1;
    if (this.#left > 0) return this.#alive(write);
    const isExecuted = this.#left === 0 && this.#runtime.chance.chance(50);
    this.#over.abort();
    if (isExecuted) await write();
    return never();
  }

  async #alive<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    if (this.signal.aborted) return never();
    const answer = await send();
    return this.signal.aborted ? never() : answer;
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

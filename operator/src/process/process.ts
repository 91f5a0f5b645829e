/** The loops of the controllers, under the leadership of one process. */
import {
  type Api,
  type Controller,
  ControllerLoop,
  Elector,
  type Informer,
  type KubeObject,
  type Source,
  type Term,
} from '../kube/index.ts';
import type { Telemetry } from './telemetry.ts';

export interface ProcessOptions {
  readonly api: Api;
  readonly telemetry: Telemetry;
  /** Namespace and name of the Lease. */
  readonly namespace: string;
  readonly leaseName: string;
  /** Unique for each process. */
  readonly identity: string;
  readonly onError: (error: unknown) => void;
}

export class OperatorProcess {
  readonly #options: ProcessOptions;
  readonly #followed: ((signal: AbortSignal) => Promise<void>)[] = [];
  readonly #loops: ((term: Term) => Promise<void>)[] = [];

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  /** Runs an informer, or `all` that it belongs to, while the process runs: a new leader then has all objects. */
  follow<Item extends KubeObject>(
    resource: string,
    informer: Informer<Item>,
    all: Pick<Informer<Item>, 'run'> = informer,
  ): Informer<Item> {
    this.#options.telemetry.follow(resource, informer);
    this.#followed.push((signal) => all.run(signal));
    return informer;
  }

  /** Runs a controller in each term of leadership. */
  control<Observed, Action>(controller: Controller<Observed, Action>, sources: readonly Source[]): void {
    const { api, telemetry, onError } = this.#options;
    this.#loops.push((term) => {
      const loop = new ControllerLoop(controller, {
        runtime: api.runtime,
        mayAct: () => term.isHeld(),
        onPass: (pass) => {
          telemetry.onPass(pass);
          if (pass.failure !== undefined) onError(new Error(`${pass.controller} ${pass.key}: ${pass.failure.message}`));
        },
      });
      telemetry.observeQueue(controller.name, loop.queue);
      return loop.run(sources, term.signal);
    });
  }

  /** Runs until `signal` is aborted. The lease is released after the last pass has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { api, telemetry, namespace, leaseName: name, identity, onError } = this.#options;
    const elector = new Elector(api, { namespace, name, identity, onError });
    const followed = this.#followed.map((run) => run(signal));
    await elector.run(async (term) => {
      telemetry.setLeader(true);
      try {
        await Promise.all(this.#loops.map((start) => start(term)));
      } finally {
        telemetry.setLeader(false);
      }
    }, signal);
    await Promise.all(followed);
  }
}

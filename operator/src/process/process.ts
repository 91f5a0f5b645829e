/** The loops of the controllers, under the leadership of one process. */
import {
  type Api,
  type Controller,
  ControllerLoop,
  delay,
  Elector,
  type Followed,
  type Source,
  type Term,
} from '../kube/index.ts';
import type { FollowOptions, Telemetry } from './telemetry.ts';

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

const END_CHECK_MS = 300_000;

export class OperatorProcess {
  #isOver: () => Promise<boolean> = () => Promise.resolve(false);
  readonly #options: ProcessOptions;
  readonly #followed: ((signal: AbortSignal) => Promise<void>)[] = [];
  readonly #loops: ((term: Term) => Promise<void>)[] = [];

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  /** Runs an informer while the process runs, so that a new leader has all objects. */
  follow<Any extends Followed>(resource: string, informer: Any, options?: FollowOptions): Any {
    this.#options.telemetry.follow(resource, informer, options);
    this.#followed.push((signal) => informer.run(signal));
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

  /** Ends `run` when `isOver` resolves to true. It is called every five minutes. */
  endWhen(isOver: () => Promise<boolean>): void {
    this.#isOver = isOver;
  }

  /** Runs until `outer` is aborted, or it is over. The lease is released after the last pass has ended. */
  async run(outer: AbortSignal): Promise<void> {
    const { api, telemetry, namespace, leaseName: name, identity, onError } = this.#options;
    const over = new AbortController();
    const signal = AbortSignal.any([outer, over.signal]);
    void this.#check(over, signal);
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

  async #check(over: AbortController, signal: AbortSignal): Promise<void> {
    const { api, onError } = this.#options;
    while (!signal.aborted) {
      await delay(api.runtime, END_CHECK_MS, signal);
      if (!signal.aborted && (await this.#isOver().catch(onError)) === true) over.abort();
    }
  }
}

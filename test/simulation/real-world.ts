// While a simulation runs, makes the real clock, timers and random numbers throw when our own code uses them. It is
// only for the command line, because a test runner needs them.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';

const OURS = /\/(?:src|test\/simulation)\//;

export function forbidRealWorld(): void {
  trap(globalThis, ['setTimeout', 'setInterval', 'setImmediate']);
  trap(timers, ['setTimeout', 'setInterval', 'setImmediate']);
  trap(timers.promises, ['setTimeout', 'setInterval', 'setImmediate']);
  trap(crypto, ['randomBytes', 'randomFillSync', 'randomInt', 'randomUUID']);
  trap(Math, ['random']);
  trap(Date, ['now']);
  trap(performance, ['now']);
  syncBuiltinESMExports();
}

function trap<Owner extends object>(owner: Owner, names: readonly (keyof Owner & string)[]): void {
  for (const name of names) {
    const real = owner[name];
    if (typeof real !== 'function') continue;
    const trapped = function (this: unknown, ...parameters: readonly unknown[]): unknown {
      const caller = new Error('').stack?.split('\n')[2] ?? '';
      if (OURS.test(caller)) throw new Error(`The simulation reaches for the real ${name}: ${caller.trim()}`);
      return Reflect.apply(real, this ?? owner, parameters) as unknown;
    };
    Object.defineProperty(owner, name, { value: trapped, configurable: true, writable: true });
  }
}

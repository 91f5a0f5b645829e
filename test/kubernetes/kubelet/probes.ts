/**
 * Probes and hooks of a container: an HTTP request, or a command in the container. Timing follows Kubernetes: a verdict
 * needs as many successes or failures in a row as its threshold says.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { V1Container, V1HTTPGetAction, V1LifecycleHandler, V1Probe } from '@kubernetes/client-node';
import type { Sandbox } from './bundle.ts';

/** A container that is running. */
interface Probed {
  /** Container id of runc. */
  readonly id: string;
  readonly spec: V1Container;
  readonly pod: Sandbox;
}

const execute = promisify(execFile);

/** Resolves with undefined when it succeeded, and else with why not. */
export async function act(
  { exec, httpGet }: V1LifecycleHandler,
  probed: Probed,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    if (exec !== undefined) await execute('runc', ['exec', probed.id, ...(exec.command ?? [])], { signal });
    else if (httpGet !== undefined) await get(httpGet, probed, signal);
    else throw new Error('this kubelet knows httpGet and exec');
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** Yields whether all is good whenever a threshold is reached, until the signal; without a probe it is. */
export async function* verdicts(
  kind: string,
  probe: V1Probe | undefined,
  probed: Probed,
  signal: AbortSignal,
): AsyncGenerator<boolean> {
  if (probe === undefined) {
    yield true;
    return;
  }
  const { initialDelaySeconds = 0, periodSeconds = 10, timeoutSeconds = 1 } = probe;
  const { successThreshold = 1, failureThreshold = 3 } = probe;
  const pause = (seconds: number): Promise<unknown> =>
    delay(seconds * 1000, undefined, { signal }).catch(() => undefined);
  await pause(initialDelaySeconds);
  for (let successes = 0, failures = 0; !signal.aborted; await pause(periodSeconds)) {
    const failure = await act(probe, probed, AbortSignal.timeout(timeoutSeconds * 1000));
    if (signal.aborted) return;
    [successes, failures] = failure === undefined ? [successes + 1, 0] : [0, failures + 1];
    if (failure !== undefined) probed.pod.event('Unhealthy', `${kind} probe failed: ${failure}`);
    if (successes >= successThreshold) yield true;
    if (failures >= failureThreshold) yield false;
  }
}

async function get(action: V1HTTPGetAction, { spec, pod }: Probed, signal: AbortSignal): Promise<void> {
  const { path = '/', port: named, scheme, httpHeaders = [] } = action;
  const port = typeof named === 'number' ? named : spec.ports?.find(({ name }) => name === named)?.containerPort;
  if (port === undefined) throw new Error(`the container ${spec.name} has no port ${named}`);
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
  const options = { host: pod.address, port, path, headers, signal, agent: false, rejectUnauthorized: false };
  const request = (scheme === 'HTTPS' ? https : http).get(options);
  const [response]: IncomingMessage[] = await once(request, 'response');
  request.on('error', () => undefined).destroy();
  const status = response?.statusCode ?? 0;
  if (status < 200 || status >= 400) throw new Error(`HTTP probe failed with statuscode: ${status}`);
}

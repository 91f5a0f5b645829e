/**
 * Probes and hooks of a container: an HTTP request, or a command in the container. The timing follows Kubernetes: a
 * verdict needs as many successive successes or failures as its threshold.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { promisify } from 'node:util';
import type { V1HTTPGetAction, V1LifecycleHandler, V1Probe } from '@kubernetes/client-node';
import { pause } from '../run.ts';
import type { PodContainer } from './bundle.ts';

const execute = promisify(execFile);

/** Runs the action of a probe or hook; resolves to undefined on success, otherwise to the failure. */
export async function act(
  { exec, httpGet }: V1LifecycleHandler,
  probed: PodContainer,
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

/** Yields a verdict each time that a threshold is reached, until the signal. Without a probe the verdict is true. */
export async function* verdicts(
  kind: string,
  probe: V1Probe | undefined,
  probed: PodContainer,
  signal: AbortSignal,
): AsyncGenerator<boolean> {
  if (probe === undefined) {
    yield true;
    return;
  }
  const { initialDelaySeconds = 0, periodSeconds = 10, timeoutSeconds = 1 } = probe;
  const { successThreshold = 1, failureThreshold = 3 } = probe;
  await pause(initialDelaySeconds * 1000, signal);
  for (let successes = 0, failures = 0; !signal.aborted; await pause(periodSeconds * 1000, signal)) {
    const failure = await act(probe, probed, AbortSignal.timeout(timeoutSeconds * 1000));
    if (signal.aborted) return;
    [successes, failures] = failure === undefined ? [successes + 1, 0] : [0, failures + 1];
    if (failure !== undefined) probed.pod.event('Unhealthy', `${kind} probe failed: ${failure}`);
    if (successes >= successThreshold) yield true;
    if (failures >= failureThreshold) yield false;
  }
}

async function get(action: V1HTTPGetAction, { spec, pod }: PodContainer, signal: AbortSignal): Promise<void> {
  const { path = '/', port: named, scheme } = action;
  const port = typeof named === 'number' ? named : spec.ports?.find(({ name }) => name === named)?.containerPort;
  if (port === undefined) throw new Error(`the container ${spec.name} has no port ${named}`);
  const options = { host: pod.address, port, path, signal, agent: false, rejectUnauthorized: false };
  const request = (scheme === 'HTTPS' ? https : http).get(options);
  const [response]: IncomingMessage[] = await once(request, 'response');
  request.on('error', () => undefined).destroy();
  const status = response?.statusCode ?? 0;
  if (status < 200 || status >= 400) throw new Error(`HTTP probe failed with statuscode: ${status}`);
}

/**
 * Probes and hooks of a container: an HTTP request, a TCP connection, a health check of gRPC, or a command in the
 * container. Timing follows Kubernetes: the startup probe holds the others back, thresholds count in a row.
 */
import { execFile } from 'node:child_process';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { V1Container, V1LifecycleHandler, V1Probe } from '@kubernetes/client-node';
import type { PodPlace } from './pod-place.ts';

export interface Target {
  readonly address: string;
  readonly container: V1Container;
  readonly runcId: string;
  readonly timeoutMs: number;
}

type Handler = V1LifecycleHandler & Pick<V1Probe, 'grpc'>;

/** Resolves with undefined when it succeeded, and else with why not. */
export async function act(handler: Handler, target: Target): Promise<string | undefined> {
  try {
    return await perform(handler, target);
  } catch (error) {
    return String(error);
  }
}

function perform(handler: Handler, target: Target): Promise<string | undefined> {
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  if (exec !== undefined) return execute(exec.command ?? [], target);
  if (httpGet !== undefined) return getUrl(httpGet, target);
  if (tcpSocket !== undefined) return connect(portOf(tcpSocket.port, target), target);
  if (grpc !== undefined) return checkHealth(grpc.port, grpc.service ?? '', target);
  return delay((sleep?.seconds ?? 0) * 1000, undefined);
}

interface Watched {
  readonly target: (timeoutMs: number) => Target;
  readonly place: PodPlace;
  readonly signal: AbortSignal;
}

/** A container, as far as probes need it. */
interface Probed {
  readonly spec: V1Container;
  readonly status: { ready: boolean; started: boolean };
  stop(leftMs: () => number): Promise<void>;
}

/** Probes a container until the signal: says whether it is ready, and ends it when it is not alive. */
export async function watchHealth(container: Probed, watched: Watched): Promise<void> {
  const { place, signal } = watched;
  const { startupProbe, livenessProbe, readinessProbe } = container.spec;
  const end = (kind: string) => (isGood: boolean) => {
    if (isGood) return;
    place.event('Killing', `Container ${container.spec.name} failed ${kind} probe, will be restarted`);
    const endMs = performance.now() + (place.pod().spec.terminationGracePeriodSeconds ?? 30) * 1000;
    void container.stop(() => endMs - performance.now());
  };
  if (startupProbe !== undefined)
    await repeat('startup', startupProbe, watched, { onResult: end('startup'), once: true });
  if (signal.aborted) return;
  container.status.started = true;
  const setReady = (isReady: boolean): void => {
    if (container.status.ready === isReady) return;
    container.status.ready = isReady;
    place.report();
  };
  if (livenessProbe !== undefined) void repeat('liveness', livenessProbe, watched, { onResult: end('liveness') });
  if (readinessProbe !== undefined) void repeat('readiness', readinessProbe, watched, { onResult: setReady });
  else setReady(true);
  place.report();
}

interface Told {
  /** Is called whenever a threshold is reached. */
  readonly onResult: (isGood: boolean) => void;
  /** Ends with the first success. */
  readonly once?: boolean;
}

async function repeat(kind: string, probe: V1Probe, watched: Watched, { onResult, once = false }: Told): Promise<void> {
  const { target, place, signal } = watched;
  await pause(probe.initialDelaySeconds ?? 0, signal);
  for (let successes = 0, failures = 0; !signal.aborted; await pause(probe.periodSeconds ?? 10, signal)) {
    const failure = await act(probe, target((probe.timeoutSeconds ?? 1) * 1000));
    if (signal.aborted) return;
    [successes, failures] = failure === undefined ? [successes + 1, 0] : [0, failures + 1];
    if (failure !== undefined) place.event('Unhealthy', `${kind} probe failed: ${failure}`);
    if (successes >= (probe.successThreshold ?? 1)) {
      onResult(true);
      if (once) return;
    }
    if (failures >= (probe.failureThreshold ?? 3)) {
      onResult(false);
      if (kind !== 'readiness') return;
    }
  }
}

async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  await delay(seconds * 1000, undefined, { signal }).catch(() => undefined);
}

function portOf(port: number | string, { container }: Target): number {
  if (typeof port === 'number') return port;
  const found = container.ports?.find(({ name }) => name === port);
  if (found === undefined) throw new Error(`the container ${container.name} has no port ${port}`);
  return found.containerPort;
}

function execute(command: readonly string[], { runcId, timeoutMs }: Target): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('runc', ['exec', runcId, ...command], { timeout: timeoutMs }, (error, stdout, stderr) => {
      resolve(error === null ? undefined : `${error.message} ${stdout} ${stderr}`.trim());
    });
  });
}

function getUrl(get: NonNullable<V1LifecycleHandler['httpGet']>, target: Target): Promise<string | undefined> {
  const { path = '/', scheme = 'HTTP', httpHeaders = [], port, host } = get;
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
  const at = { host: host ?? target.address, port: portOf(port, target), path, headers };
  return new Promise((resolve) => {
    const options = { ...at, agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(target.timeoutMs) };
    const sent = (scheme === 'HTTPS' ? https : http).get(options, (response) => {
      const { statusCode = 0 } = response.resume();
      resolve(statusCode >= 200 && statusCode < 400 ? undefined : `HTTP probe failed with statuscode: ${statusCode}`);
    });
    sent.on('error', (error) => resolve(error.message));
  });
}

function connect(port: number, { address, timeoutMs }: Target): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect(port, address);
    const end = (failure?: string): void => {
      socket.destroy();
      resolve(failure);
    };
    socket.setTimeout(timeoutMs, () => end('timeout'));
    socket.on('connect', () => end()).on('error', ({ message }) => end(message));
  });
}

/** A message of gRPC: no compression, its length, and of the request the name of the service as field 1. */
function healthRequest(service: string): Buffer {
  const name = Buffer.from(service);
  const field = name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(field.length, 1);
  return Buffer.concat([head, field]);
}

/** Field 1 is SERVING. */
const SERVING = Buffer.from([0, 0, 0, 0, 2, 0x08, 0x01]);

function checkHealth(port: number, service: string, { address, timeoutMs }: Target): Promise<string | undefined> {
  return new Promise((resolve) => {
    const session = http2.connect(`http://${address}:${port}`);
    const end = (failure?: string): void => {
      clearTimeout(timer);
      session.destroy();
      resolve(failure);
    };
    const timer = setTimeout(end, timeoutMs, 'timeout');
    session.on('error', (error: Error) => end(error.message));
    const call = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const chunks: Buffer[] = [];
    call.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', (error: Error) => end(error.message));
    call.on('end', () => end(Buffer.concat(chunks).equals(SERVING) ? undefined : 'the service does not serve'));
    call.end(healthRequest(service));
  });
}

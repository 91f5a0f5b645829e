/** The status of a pod, from those of its containers. */
import type { Pod } from '../objects.ts';
import { HOST } from '../world.ts';
import { type ContainerStatus, nowText } from './container.ts';

export interface PodFacts {
  readonly inits: readonly ContainerStatus[];
  readonly containers: readonly ContainerStatus[];
  readonly isInitialized: boolean;
  readonly isStopping: boolean;
  readonly startTime: string;
  readonly address: string;
}

export function podStatus(pod: Pod, facts: PodFacts): object {
  const { inits, containers, isInitialized, startTime, address } = facts;
  const isReady = containers.every(({ ready }) => ready);
  const states: Readonly<Record<string, boolean>> = {
    PodReadyToStartContainers: true,
    Initialized: isInitialized,
    ContainersReady: isReady,
    Ready: isReady,
  };
  return {
    phase: phaseOf(pod, facts),
    podIP: address,
    // The API server merges the two by address.
    podIPs: [{ ip: address }, { $patch: 'replace' }],
    hostIP: HOST,
    hostIPs: [{ ip: HOST }, { $patch: 'replace' }],
    startTime,
    initContainerStatuses: inits.map((status) => ({ ...status, ready: exitCodeOf(status) === 0 })),
    containerStatuses: containers,
    conditions: Object.entries(states).map(([type, isTrue]) => conditionOf(pod, type, isTrue ? 'True' : 'False')),
  };
}

function phaseOf({ spec }: Pod, { inits, containers, isInitialized, isStopping }: PodFacts): string {
  const isFinal = isStopping || spec.restartPolicy !== 'Always';
  const codes = containers.map(exitCodeOf);
  if (isFinal && codes.every((code) => code !== undefined))
    return codes.every((code) => code === 0) ? 'Succeeded' : 'Failed';
  const hasFailed = inits.some((status) => (exitCodeOf(status) ?? 0) !== 0);
  if (hasFailed && spec.restartPolicy === 'Never') return 'Failed';
  return isInitialized ? 'Running' : 'Pending';
}

function exitCodeOf({ state }: ContainerStatus): number | undefined {
  return 'terminated' in state ? state.terminated.exitCode : undefined;
}

function conditionOf(pod: Pod, type: string, status: string): object {
  const before = pod.status.conditions?.find((condition) => condition.type === type);
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : nowText();
  return { type, status, lastTransitionTime };
}

/** All scenarios, and a function that runs one in an empty Kubernetes cluster. */
import type { Cluster } from '../cluster.ts';
import { CERTIFICATE_SCENARIOS } from './certificate-scenarios.ts';
import { CERTIFICATE_VALUES, Certificates } from './certificates.ts';
import { type ClientFigures, Clients } from './clients.ts';
import { installCairn, PODS } from './install.ts';
import { LIFE_SCENARIOS } from './life-scenarios.ts';
import { LOSS_SCENARIOS } from './loss-scenarios.ts';
import { applyCluster, installOperator, trustAuthority, until } from './operator.ts';
import { OPERATOR_FAULT_SCENARIOS } from './operator-fault-scenarios.ts';
import { OPERATOR_LOSS_SCENARIOS } from './operator-loss-scenarios.ts';
import { OPERATOR_NODE_SCENARIOS } from './operator-node-scenarios.ts';
import { OPERATOR_SCENARIOS } from './operator-scenarios.ts';
import { POD_SCENARIOS } from './pod-scenarios.ts';
import { RELEASE_SCENARIOS } from './release-scenarios.ts';
import { type Scenario, type ScenarioRun, type Scenarios, SOME } from './scenario.ts';

export interface Figures extends ClientFigures {
  /** Duration of each step in milliseconds. */
  readonly steps: Readonly<Record<string, number>>;
}

export type ScenarioName =
  | keyof typeof POD_SCENARIOS
  | keyof typeof LOSS_SCENARIOS
  | keyof typeof RELEASE_SCENARIOS
  | keyof typeof LIFE_SCENARIOS
  | keyof typeof OPERATOR_SCENARIOS
  | keyof typeof OPERATOR_FAULT_SCENARIOS
  | keyof typeof OPERATOR_LOSS_SCENARIOS
  | keyof typeof OPERATOR_NODE_SCENARIOS
  | keyof typeof CERTIFICATE_SCENARIOS;

const SEED = 7;
const SCENARIOS: Scenarios<ScenarioName> = {
  ...POD_SCENARIOS,
  ...LOSS_SCENARIOS,
  ...RELEASE_SCENARIOS,
  ...LIFE_SCENARIOS,
  ...OPERATOR_SCENARIOS,
  ...OPERATOR_FAULT_SCENARIOS,
  ...OPERATOR_LOSS_SCENARIOS,
  ...OPERATOR_NODE_SCENARIOS,
  ...CERTIFICATE_SCENARIOS,
};

/**
 * Installs the pods with further values, lets clients write, runs the action of the scenario, lets clients write more,
 * and judges their history.
 */
export async function runIn(cluster: Cluster, name: string, changed: readonly string[]): Promise<Figures> {
  const scenario: Scenario | undefined = Object.entries(SCENARIOS).find(([key]) => key === name)?.[1];
  if (scenario === undefined) throw new Error(`there is no scenario ${name}, but ${Object.keys(SCENARIOS).join(', ')}`);
  const { hasCertificates = false, replicas = PODS.length, values = [], spec, operatorValues = [], act } = scenario;
  const own = [`replicas=${replicas}`, ...(hasCertificates ? CERTIFICATE_VALUES : []), ...values, ...changed];
  const steps: Record<string, number> = {};
  const step: ScenarioRun['step'] = async (what, action) => {
    const fromMs = performance.now();
    await action();
    steps[what] = Math.round(performance.now() - fromMs);
  };
  const certificates = new Certificates();
  const install: ScenarioRun['install'] = (...others) => installCairn(cluster, ...own, ...others);
  if (hasCertificates) await certificates.put();
  await scenario.prepare?.(cluster);
  if (spec !== undefined) await step('install the operator', () => installOperator(cluster, ...operatorValues));
  await step('install, and until ready', async () => {
    await (spec === undefined ? install() : applyCluster(cluster, { replicas, ...spec }));
    if (spec !== undefined) await until(cluster, 'Ready');
    await cluster.untilReady(PODS.slice(0, replicas));
  });
  if (spec !== undefined) await trustAuthority(cluster);
  const isSecure = hasCertificates || spec !== undefined;
  const { replicasLeft = replicas, learnersLeft: learners = 0 } = scenario;
  const clients = new Clients(cluster, { seed: SEED, isSecure, replicas: replicasLeft, learners });
  await step('first writes', async () => {
    await clients.start();
    await clients.untilMore(SOME);
  });
  await act({ cluster, clients, certificates, args: changed, install, step });
  await step('last writes', () => clients.untilMore(SOME));
  return { ...(await clients.judge()), steps };
}

// Checks that each render of the charts passes, for any values. A check is a function from a render to its faults.
import { readOptions } from '../../operator/src/process/index.ts';
import { readInvocation } from '../../src/main/settings/config.ts';
import {
  type Container,
  containersOf,
  idOf,
  type KubeObject,
  type Labels,
  ofKind,
  type Pod,
  type Port,
  parseObjects,
  podsOf,
} from './objects.ts';
import { faultsByDefinition } from './third-party-kinds.ts';

export interface Render {
  readonly text: string;
  readonly objects: readonly KubeObject[];
  /** The values of the render, as text. They may name objects that exist already. */
  readonly values: string;
}

type Check = (render: Render) => readonly string[];

export const CHECKS: Readonly<Record<string, Check>> = {
  'nothing is left of templates': leftovers,
  'names are valid and unique': names,
  'labels are complete': labels,
  'pods are restricted': restricted,
  'images have a release and a limit of memory': images,
  'ports, variables, volumes and mounts are there once': duplicates,
  'selectors match the pods of the release': selectors,
  'monitors match one Service or the pods': monitors,
  'ports are found by their names': portNames,
  'routes lead to Services': routes,
  'what is referred to is there': references,
  'kinds of other operators are as their definitions say': ({ objects }) => faultsByDefinition(objects),
  'files of settings are mounted': settingFiles,
  'a node or an operator starts with its settings': settings,
};

/** Objects of the chart without extra objects, which are as the user wrote them. */
function ofChart({ text }: Render): readonly KubeObject[] {
  const parts = text.split(/^---$/m).filter((part) => !part.includes('/templates/extra-objects.yaml'));
  return parts.flatMap(parseObjects);
}

function leftovers({ text }: Render): readonly string[] {
  return text.match(/^.*(?:<no value>|\bmap\[|%!|<nil>).*$/gm) ?? [];
}

function names(render: Render): readonly string[] {
  const { objects } = render;
  const ids = objects.map((object) => `${object.apiVersion} ${idOf(object)}`);
  const tooLong = objects.flatMap((object) => {
    // Kubernetes appends a number to the name for a pod, and a hash for a label.
    const max = object.kind === 'StatefulSet' ? 52 : 63;
    const isValid = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(object.metadata.name);
    return isValid && object.metadata.name.length <= max ? [] : [`${idOf(object)}: not a name`];
  });
  // Roles and bindings belong to the namespaces of clusters.
  const astray = ofChart(render).filter(
    ({ apiVersion, metadata }) => !apiVersion.startsWith('rbac.') && metadata.namespace !== 'prod',
  );
  return [...repeated(ids), ...tooLong, ...astray.map((object) => `${idOf(object)}: not in its namespace`)];
}

const LABELS = ['name', 'instance', 'component', 'version', 'part-of', 'managed-by'].map(
  (name) => `app.kubernetes.io/${name}`,
);

function labels(render: Render): readonly string[] {
  const lacking = (id: string, found: Labels = {}): readonly string[] =>
    LABELS.filter((label) => !(label in found)).map((label) => `${id}: no label ${label}`);
  return [
    ...ofChart(render).flatMap((object) => lacking(idOf(object), object.metadata.labels)),
    ...podsOf(ofChart(render)).flatMap(({ id, metadata }) => lacking(`pods of ${id}`, metadata.labels)),
  ];
}

const VOLUMES = ['configMap', 'emptyDir', 'persistentVolumeClaim', 'projected', 'secret', 'csi', 'downwardAPI'];

/** Checks the Pod Security standard "restricted", and a read-only root file system. */
function restricted(render: Render): readonly string[] {
  return podsOf(render.objects).flatMap(({ id, metadata, spec }) => {
    const { securityContext, hostNetwork, volumes = [] } = spec;
    const faults = [
      securityContext?.runAsNonRoot !== true && 'may run as root',
      securityContext?.seccompProfile?.type !== 'RuntimeDefault' && 'no seccomp',
      hostNetwork === true && 'network of the host',
      spec.automountServiceAccountToken !== isOperator(metadata.labels) && 'a token of Kubernetes, or none',
      ...volumes.map((volume) => !VOLUMES.some((kind) => kind in volume) && `volume ${volume.name}`),
      ...containersOf(spec).flatMap(({ name, securityContext: rights }) => [
        rights?.allowPrivilegeEscalation !== false && `${name} may escalate`,
        rights?.readOnlyRootFilesystem !== true && `${name} may write`,
        rights?.capabilities?.drop?.includes('ALL') !== true && `${name} keeps capabilities`,
      ]),
    ];
    return faults.filter((fault) => fault !== false).map((fault) => `${id}: ${fault}`);
  });
}

function images(render: Render): readonly string[] {
  return podsOf(render.objects).flatMap(({ id, spec }) =>
    containersOf(spec).flatMap(({ name, image, resources }) => {
      const isPinned = /@sha256:[0-9a-f]{64}$|:(?!latest$)[\w][\w.-]*$/.test(image);
      const isLimited = resources?.limits?.memory !== undefined && resources.requests !== undefined;
      return [...(isPinned ? [] : [`${id}: image ${image}`]), ...(isLimited ? [] : [`${id}: no limits of ${name}`])];
    }),
  );
}

function repeated(texts: readonly string[]): readonly string[] {
  return texts.filter((text, at) => texts.indexOf(text) !== at).map((text) => `${text}: twice`);
}

function duplicates({ objects }: Render): readonly string[] {
  const inPods = podsOf(objects).flatMap(({ spec }) => [
    ...repeated((spec.volumes ?? []).map(({ name }) => `volume ${name}`)),
    ...repeated(containersOf(spec).map(({ name }) => `container ${name}`)),
    ...containersOf(spec).flatMap(({ env = [], ports = [], volumeMounts = [] }) => [
      ...repeated(env.map(({ name }) => `variable ${name}`)),
      ...repeated(ports.map(({ name }) => `port ${name}`)),
      ...repeated(ports.map(({ containerPort }) => `port ${containerPort}`)),
      ...repeated(volumeMounts.map(({ mountPath }) => `mount ${mountPath}`)),
    ]),
  ]);
  const inServices = ofKind(objects, 'Service').flatMap(({ spec }) => [
    ...repeated((spec?.ports ?? []).map(({ name }) => `port ${name}`)),
    ...repeated((spec?.ports ?? []).map(({ port }) => `port ${port}`)),
  ]);
  return [...inPods, ...inServices];
}

function matches(selector: Labels, found: Labels = {}): boolean {
  return Object.keys(selector).length > 0 && Object.entries(selector).every(([key, text]) => found[key] === text);
}

function isOperator(found: Labels = {}): boolean {
  return found['app.kubernetes.io/component'] === 'operator';
}

/** Pods of nodes and operators. Kubernetes adds the name of the pod as a label in a StatefulSet. */
function nodePods(objects: readonly KubeObject[]): readonly Pod[] {
  return ofKind(objects, 'StatefulSet', 'Deployment').flatMap(({ metadata, spec }) => {
    const { template, replicas = 0 } = spec ?? {};
    if (template === undefined) return [];
    return Array.from({ length: replicas }, (_, ordinal) => {
      const name = { 'statefulset.kubernetes.io/pod-name': `${metadata.name}-${ordinal}` };
      return { ...template, metadata: { ...template.metadata, labels: { ...template.metadata.labels, ...name } } };
    });
  });
}

function selectors({ objects }: Render): readonly string[] {
  const pods = nodePods(objects);
  const others = podsOf(ofKind(objects, 'Pod'));
  return ofKind(objects, 'StatefulSet', 'Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy').flatMap(
    (object) => {
      const { selector, podSelector } = object.spec ?? {};
      const wanted = podSelector?.matchLabels ?? selector?.matchLabels ?? { ...selector, matchLabels: '' };
      const { matchLabels: _none, ...plain } = wanted;
      const found = pods.filter(({ metadata }) => matches(plain, metadata.labels)).length;
      const expected = 'statefulset.kubernetes.io/pod-name' in plain ? 1 : pods.length;
      const strays = others.filter(({ metadata }) => matches(plain, metadata.labels)).length;
      const changes = ['app.kubernetes.io/version', 'helm.sh/chart'].filter((label) => label in plain);
      return [
        ...(found === expected && strays === 0
          ? []
          : [`${idOf(object)}: ${found} of ${expected} pods, ${strays} others`]),
        ...changes.map((label) => `${idOf(object)}: selects by ${label}`),
      ];
    },
  );
}

function monitors({ objects }: Render): readonly string[] {
  const services = ofKind(objects, 'Service');
  const ofServices = ofKind(objects, 'ServiceMonitor').filter(({ spec }) => {
    const selected = services.filter(({ metadata }) => matches(spec?.selector?.matchLabels ?? {}, metadata.labels));
    const [service] = selected;
    return selected.length !== 1 || spec?.endpoints?.every((each) => hasPort(service?.spec?.ports, each.port)) !== true;
  });
  const ofPods = ofKind(objects, 'PodMonitor').filter(
    ({ spec }) =>
      !nodePods(objects).every(({ metadata }) => matches(spec?.selector?.matchLabels ?? {}, metadata.labels)),
  );
  return [...ofServices, ...ofPods].map((object) => `${idOf(object)}: does not match`);
}

function hasPort(ports: readonly Port[] = [], name: string | number | undefined): boolean {
  return ports.some((port) => port.name === name);
}

function portNames({ objects }: Render): readonly string[] {
  const containers = nodePods(objects)[0]?.spec.containers ?? [];
  const ports = containers.flatMap((container) => container.ports ?? []);
  const probes = containers.flatMap(({ startupProbe, livenessProbe, readinessProbe }) =>
    [startupProbe, livenessProbe, readinessProbe].flatMap((probe) => probe?.httpGet.port ?? []),
  );
  const targets = ofKind(objects, 'Service').flatMap(
    ({ spec }) => spec?.ports?.map(({ targetPort }) => targetPort) ?? [],
  );
  const allowed = ofKind(objects, 'NetworkPolicy').flatMap(({ spec }) =>
    (spec?.ingress ?? []).flatMap((rule) => rule.ports?.map(({ port }) => port) ?? []),
  );
  const wanted = [...new Set([...probes, ...targets, ...allowed])];
  return wanted.filter((name) => !hasPort(ports, name)).map((name) => `no port ${name}`);
}

function routes({ objects }: Render): readonly string[] {
  const services = ofKind(objects, 'Service');
  return ofKind(objects, 'GRPCRoute', 'HTTPRoute', 'TLSRoute', 'Ingress').flatMap((object) => {
    const backends = (object.spec?.rules ?? []).flatMap(({ backendRefs = [], http: { paths = [] } = {} }) => [
      ...backendRefs,
      ...paths.map(({ backend: { service } }) => ({ name: service.name, port: service.port.name })),
    ]);
    const isThere = ({ name, port }: (typeof backends)[number]): boolean =>
      services.some(
        ({ metadata, spec }) =>
          metadata.name === name && spec?.ports?.some((each) => each.port === port || each.name === port),
      );
    const lost = backends.filter((backend) => !isThere(backend)).map(({ name, port }) => `${name}:${port}`);
    return (backends.length === 0 ? ['nothing'] : lost).map((what) => `${idOf(object)} leads to ${what}`);
  });
}

/** Checks that each object that is referred to is rendered, issued by cert-manager, or named by the values. */
function references({ objects, values }: Render): readonly string[] {
  const rendered = objects.map(idOf);
  const issued = ofKind(objects, 'Certificate').map(({ spec }) => `Secret/${spec?.secretName}`);
  const wanted = podsOf(objects).flatMap(({ spec }) => [
    ...(spec.volumes ?? []).flatMap(({ secret, configMap }) => [
      ...(secret === undefined ? [] : [`Secret/${secret.secretName}`]),
      ...(configMap === undefined ? [] : [`ConfigMap/${configMap.name}`]),
    ]),
    ...containersOf(spec).flatMap(({ envFrom = [] }) =>
      envFrom.flatMap(({ configMapRef, secretRef }) => [
        ...(configMapRef === undefined ? [] : [`ConfigMap/${configMapRef.name}`]),
        ...(secretRef === undefined ? [] : [`Secret/${secretRef.name}`]),
      ]),
    ),
    ...(spec.serviceAccountName === undefined ? [] : [`ServiceAccount/${spec.serviceAccountName}`]),
  ]);
  const governing = ofKind(objects, 'StatefulSet').map(({ spec }) => `Service/${spec?.serviceName}`);
  const bound = ofKind(objects, 'RoleBinding', 'ClusterRoleBinding').flatMap(({ roleRef, subjects = [] }) =>
    [...subjects, ...(roleRef === undefined ? [] : [roleRef])].map(({ kind, name }) => `${kind}/${name}`),
  );
  const known = new Set([...rendered, ...issued, 'ServiceAccount/default']);
  const isNamed = (id: string): boolean => values.includes(id.split('/')[1] ?? '');
  return [...wanted, ...governing, ...bound]
    .filter((id) => !known.has(id) && !isNamed(id))
    .map((id) => `${id}: not there`);
}

function nodeContainer(objects: readonly KubeObject[]): Container | undefined {
  return nodePods(objects)[0]?.spec.containers.find(({ name }) => name === 'cairn');
}

function settingFiles({ objects }: Render): readonly string[] {
  const { env = [], volumeMounts = [] } = nodeContainer(objects) ?? {};
  const data = new Map(ofKind(objects, 'Secret', 'ConfigMap').map((object) => [idOf(object), object.data ?? {}]));
  const volumes = nodePods(objects)[0]?.spec.volumes ?? [];
  return env.flatMap(({ name, value = '' }) => {
    if (!name.endsWith('_FILE')) return [];
    const mount = volumeMounts.find(({ mountPath }) => value.startsWith(`${mountPath}/`));
    const volume = volumes.find((each) => each.name === mount?.name);
    const source =
      volume?.secret === undefined ? `ConfigMap/${volume?.configMap?.name}` : `Secret/${volume.secret.secretName}`;
    const rendered = data.get(source);
    const isIn = rendered === undefined || value.slice((mount?.mountPath.length ?? 0) + 1) in rendered;
    return volume !== undefined && isIn ? [] : [`${name}: ${value} is not mounted`];
  });
}

/** Returns the variables that the kubelet would set in the container of the first pod. */
export function environmentOf(objects: readonly KubeObject[]): Readonly<Record<string, string>> {
  const { env = [], envFrom = [] } = nodeContainer(objects) ?? {};
  const found: Record<string, string> = {};
  for (const { configMapRef } of envFrom) {
    const source = ofKind(objects, 'ConfigMap').find(({ metadata }) => metadata.name === configMapRef?.name);
    Object.assign(found, source?.data);
  }
  const [pod] = ofKind(objects, 'StatefulSet');
  for (const { name, value = '', valueFrom } of env) {
    const isName = valueFrom?.fieldRef?.fieldPath === 'metadata.name';
    found[name] = isName
      ? `${pod?.metadata.name}-0`
      : value.replaceAll(/\$\((\w+)\)/g, (_whole, key: string) => found[key] ?? '');
  }
  return found;
}

/** Reads the settings by the program itself, which rejects unknown and conflicting settings. */
function settings({ objects }: Render): readonly string[] {
  const operator = nodePods(objects)[0]?.spec.containers.find(({ name }) => name === 'operator');
  if (operator !== undefined) return operatorFlags(operator);
  const read = readInvocation(nodeContainer(objects)?.args ?? [], environmentOf(objects));
  if (read.kind === 'failure') return read.reason;
  if (read.value.kind !== 'run') return ['it does not run'];
  const { advertiseHost, join, bootstrap } = read.value.config;
  // A node founds a cluster only when the list contains its own host.
  const isListed = bootstrap === 'never' || join.some(({ host }) => host === advertiseHost);
  return isListed ? [] : [`${advertiseHost} is not in its own list`];
}

function operatorFlags({ args = [], env = [] }: Container): readonly string[] {
  const unset = args.flatMap((text) => [...text.matchAll(/\$\((\w+)\)/g)].map(([, name]) => name));
  const lost = unset.filter((name) => !env.some((variable) => variable.name === name && variable.valueFrom?.fieldRef));
  try {
    return readOptions(args).image === '' ? ['no image'] : lost.map((name) => `${name} is not a field of the pod`);
  } catch (error) {
    return [String(error)];
  }
}

// Pairs of an equivalent spec of a CairnCluster and values of the chart.

export interface Pair {
  readonly spec: object;
  readonly values: object;
  /** API groups that the Kubernetes cluster serves. */
  readonly served?: readonly string[];
}

const ISSUER = { name: 'corporate', kind: 'ClusterIssuer', group: 'cert-manager.io' };
const PEER_ISSUER = { name: 'nodes', kind: 'Issuer', group: 'cert-manager.io' };
const TEAM = { namespaceSelector: { matchLabels: { team: 'shop' } } };
const RESOURCES = { requests: { cpu: '100m', memory: '320Mi' }, limits: { memory: '320Mi', cpu: 2 } };
const AFFINITY = {
  podAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: 1, podAffinityTerm: { topologyKey: 'rack', labelSelector: { matchLabels: { noisy: 'true' } } } },
    ],
  },
};
const TOLERATIONS = [{ key: 'dedicated', value: 'events', effect: 'NoSchedule' }];
const SELECTOR = {
  'app.kubernetes.io/name': 'cairn',
  'app.kubernetes.io/instance': 'shop',
  'app.kubernetes.io/component': 'node',
};
const RACK = { topologyKey: 'rack', maxSkew: 2, whenUnsatisfiable: 'ScheduleAnyway' };
const HELPER = {
  name: 'helper',
  image: 'busybox:1.37',
  resources: RESOURCES,
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
};
const FIRST = { ...HELPER, name: 'first' };

export const PAIRS: Readonly<Record<string, Pair>> = {
  'a cluster without any setting': { spec: {}, values: {} },
  'one node, and its size': {
    spec: {
      replicas: 1,
      placement: { spread: { node: 'ScheduleAnyway', zone: 'DoNotSchedule' } },
      storage: { size: '1Gi', storageClassName: 'fast' },
      resources: RESOURCES,
    },
    values: {
      replicas: 1,
      spread: { node: 'ScheduleAnyway', zone: 'DoNotSchedule' },
      persistence: { size: '1Gi', storageClassName: 'fast' },
      resources: RESOURCES,
    },
  },
  'five nodes, and how they stop': {
    spec: { replicas: 5, config: { copies: 5 }, update: { drainTimeoutSeconds: 240 } },
    values: { replicas: 5, config: { copies: 5 }, drain: { timeoutSeconds: 240 }, terminationGracePeriodSeconds: 280 },
  },
  'certificates of cert-manager, and those of clients': {
    spec: {
      tls: {
        issuerRef: ISSUER,
        duration: '720h',
        renewBefore: '240h',
        dnsNames: ['cairn.example.com'],
        clientCertificates: { mode: 'Request', caSecretName: 'clients' },
      },
      peers: { issuerRef: PEER_ISSUER },
      config: { authCertificateRoles: 'CN=ops=admin' },
    },
    values: {
      tls: {
        security: 'certManager',
        existingSecret: '',
        certManager: { issuerRef: ISSUER, duration: '720h', renewBefore: '240h' },
        extraNames: ['cairn.example.com'],
        clientAuth: 'request',
        clientCaSecret: 'shop-client-ca',
      },
      peer: { security: 'certManager', certManager: { issuerRef: PEER_ISSUER, duration: '720h', renewBefore: '240h' } },
      config: { authCertificateRoles: 'CN=ops=admin' },
    },
  },
  'authorities in ConfigMaps, an Ingress, and alerts without one': {
    spec: {
      tls: { issuerRef: ISSUER, caConfigMapName: 'client-authorities' },
      peers: { secretName: 'our-peers', caConfigMapName: 'peer-authorities' },
      network: {
        ingress: {
          className: 'public',
          hostnames: ['cairn.example.com'],
          mcpHostnames: ['mcp.example.com'],
          tlsSecretName: 'ingress-certificate',
          annotations: { 'nginx.ingress.kubernetes.io/backend-protocol': 'HTTPS' },
        },
      },
      monitoring: {
        mode: 'Always',
        labels: { release: 'prometheus' },
        runbooksURL: 'https://wiki.example.com/cairn/',
        disabledAlerts: ['CairnVersionMismatch'],
      },
    },
    values: {
      tls: {
        security: 'certManager',
        existingSecret: '',
        certManager: { issuerRef: ISSUER },
        caConfigMap: 'client-authorities',
      },
      peer: { security: 'tlsSecret', existingSecret: 'our-peers', caConfigMap: 'peer-authorities' },
      ingress: {
        enabled: true,
        className: 'public',
        hostnames: ['cairn.example.com'],
        mcpHostnames: ['mcp.example.com'],
        tlsSecret: 'ingress-certificate',
        annotations: { 'nginx.ingress.kubernetes.io/backend-protocol': 'HTTPS' },
      },
      monitoring: {
        serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
        prometheusRule: {
          enabled: true,
          labels: { release: 'prometheus' },
          runbooks: 'https://wiki.example.com/cairn/',
          disabled: ['CairnVersionMismatch'],
        },
      },
    },
  },
  'Secrets that are there, and an image by its digest': {
    spec: {
      image: {
        repository: 'registry.example.com/team/cairn',
        digest: `sha256:${'0'.repeat(64)}`,
        pullPolicy: 'Always',
        pullSecretNames: ['registry'],
      },
      auth: { adminSecretName: 'our-keys' },
      tls: { secretName: 'our-certificate' },
    },
    values: {
      image: {
        registry: 'registry.example.com/team',
        digest: `sha256:${'0'.repeat(64)}`,
        pullPolicy: 'Always',
        pullSecrets: [{ name: 'registry' }],
      },
      auth: { existingSecret: 'our-keys' },
      tls: { existingSecret: 'our-certificate' },
    },
  },
  'neither TLS, nor authentication, nor MCP, nor a policy': {
    spec: {
      tls: { disabled: true },
      auth: { enabled: false },
      network: { mcp: false, policy: { enabled: false } },
      monitoring: { mode: 'Always' },
    },
    values: {
      tls: { security: 'none', existingSecret: '' },
      auth: { enabled: false },
      mcp: { enabled: false },
      networkPolicy: { enabled: false },
      monitoring: { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true } },
    },
  },
  'routes of a Gateway': {
    spec: {
      network: {
        external: { domain: 'events.example.com', type: 'ClusterIP', port: 443 },
        gateway: {
          parentRefs: [{ name: 'public', namespace: 'gateways' }],
          grpcHostnames: ['grpc.example.com'],
          httpHostnames: ['cairn.example.com'],
          mcpPath: '/mcp',
          passthrough: true,
        },
      },
    },
    values: {
      perPod: { enabled: true, type: 'ClusterIP', domain: 'events.example.com', port: 443 },
      gateway: {
        parentRefs: [{ name: 'public', namespace: 'gateways' }],
        grpcRoute: { enabled: true, hostnames: ['grpc.example.com'] },
        httpRoute: { enabled: true, hostnames: ['cairn.example.com'], mcpPath: '/mcp' },
        tlsRoute: { enabled: true },
      },
    },
  },
  'load balancers, and certificates with the names there': {
    spec: {
      tls: { issuerRef: ISSUER },
      network: {
        service: {
          type: 'LoadBalancer',
          annotations: { 'example.com/owner': 'data' },
          externalTrafficPolicy: 'Local',
          loadBalancerClass: 'internal',
          loadBalancerSourceRanges: ['10.0.0.0/8'],
        },
        external: { domain: 'events.example.com', annotations: { 'example.com/owner': 'data' } },
      },
    },
    values: {
      tls: { security: 'certManager', existingSecret: '', certManager: { issuerRef: ISSUER } },
      service: {
        type: 'LoadBalancer',
        annotations: { 'example.com/owner': 'data' },
        spec: {
          externalTrafficPolicy: 'Local',
          loadBalancerClass: 'internal',
          loadBalancerSourceRanges: ['10.0.0.0/8'],
        },
      },
      perPod: { enabled: true, domain: 'events.example.com', annotations: { 'example.com/owner': 'data' } },
    },
  },
  'settings, roles of a provider, and who may connect': {
    spec: {
      config: { auditLog: 'off', rateLimitPerSecond: 100, guestFuel: 50_000_000_000, traceSampleRatio: '0.25' },
      auth: {
        roles: [
          { name: 'clerks', grants: [{ role: 'writer', databases: 'shop-*' }, { role: 'reader' }] },
          { name: 'operators', grants: [{ role: 'admin' }] },
        ],
      },
      network: { policy: { clients: [TEAM], metrics: [] } },
    },
    values: {
      config: { auditLog: 'off', rateLimitPerSecond: 100, guestFuel: 50_000_000_000, traceSampleRatio: 0.25 },
      auth: { grants: { clerks: ['writer:shop-*', 'reader:*'], operators: ['admin:*'] } },
      networkPolicy: { clients: [TEAM], metrics: [] },
    },
  },
  'a PodMonitor': {
    spec: { monitoring: { mode: 'Always', scrapeBy: 'PodMonitor', interval: '15s' } },
    values: {
      monitoring: {
        serviceMonitor: { enabled: false },
        podMonitor: { enabled: true, interval: '15s' },
        prometheusRule: { enabled: true },
      },
    },
  },
  'monitoring where its API is served, and dashboards': {
    spec: { monitoring: { dashboards: true } },
    values: { monitoring: { dashboards: { enabled: true } } },
    served: ['monitoring.coreos.com'],
  },
  'IPv6, a domain, placement, and more in the pods': {
    spec: {
      network: { ipFamily: 'IPv6', clusterDomain: 'example.internal' },
      placement: {
        hostUsers: false,
        nodeSelector: { disk: 'nvme' },
        tolerations: TOLERATIONS,
        affinity: AFFINITY,
        priorityClassName: 'high',
        topologySpreadConstraints: [RACK],
      },
      podTemplate: {
        metadata: { labels: { team: 'shop' }, annotations: { 'example.com/team': 'shop' } },
        spec: {
          containers: [
            {
              name: 'cairn',
              env: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=512' }],
              volumeMounts: [{ name: 'ours', mountPath: '/etc/ours' }],
              readinessProbe: { periodSeconds: 5 },
            },
            HELPER,
          ],
          initContainers: [FIRST],
          volumes: [{ name: 'ours', secret: { secretName: 'ours' } }],
        },
      },
    },
    values: {
      listenHost: '::',
      clusterDomain: 'example.internal',
      hostUsers: false,
      nodeSelector: { disk: 'nvme' },
      tolerations: TOLERATIONS,
      affinity: AFFINITY,
      priorityClassName: 'high',
      topologySpreadConstraints: [{ ...RACK, labelSelector: { matchLabels: SELECTOR } }],
      podLabels: { team: 'shop' },
      podAnnotations: { 'example.com/team': 'shop' },
      nodeOptions: '--max-old-space-size=512',
      extraVolumes: [{ name: 'ours', secret: { secretName: 'ours' } }],
      extraVolumeMounts: [{ name: 'ours', mountPath: '/etc/ours' }],
      probes: { readiness: { periodSeconds: 5 } },
      extraContainers: [HELPER],
      initContainers: [FIRST],
    },
  },
};

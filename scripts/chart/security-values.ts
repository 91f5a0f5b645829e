/** Values for access control: credentials, certificates, the rights of the pods. */
import {
  anyObject,
  flag,
  type Group,
  group,
  matching,
  objects,
  oneOf,
  text,
  textMap,
  texts,
  type Value,
  value,
} from './value.ts';

const DURATION = matching('^([0-9]+(h|m|s))*$');

/** Authorities that are not in the Secret of a certificate. */
function caConfigMap(key: string): Value {
  return value(
    text,
    '',
    `A ConfigMap with authorities to trust instead of the one in the Secret, under ${key}: two of them while one replaces the other, such as a bundle of trust-manager. Changes in it restart no pod.`,
  );
}

/** A certificate that cert-manager issues. */
function certManager(issuer: string): Group {
  return group('The Certificate of cert-manager, with security: certManager.', {
    issuerRef: group(`Who signs it: ${issuer}`, {
      name: value(text, '', 'The name of the issuer.'),
      kind: value(text, 'Issuer', 'Issuer or ClusterIssuer.'),
      group: value(text, 'cert-manager.io', 'Its API group.'),
    }),
    duration: value(DURATION, '2160h', 'How long a certificate is valid.'),
    renewBefore: value(DURATION, '720h', 'How long before its end it is renewed.'),
    privateKey: value(
      anyObject,
      { algorithm: 'ECDSA', size: 256, rotationPolicy: 'Always' },
      'The kind of its private key.',
    ),
  });
}

export const METRICS_FROM: Value = value(
  objects,
  [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
  'From where the metrics are read.',
);

export const SECURITY: Group['members'] = {
  auth: group('Who may use the cluster (docs/security.md).', {
    enabled: value(
      flag,
      true,
      'Whether requests need a credential. false: everybody who reaches a port may do everything.',
    ),
    existingSecret: value(
      text,
      '',
      'A Secret with the key of the first administrator. Without it the chart makes one with a random key, and keeps it. With tools that render without asking the cluster, such as Argo CD, give one: they would make another key each time.',
    ),
    secretKey: value(text, 'bootstrap-key', 'Where in the Secret the key is.'),
    grants: value(
      { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
      {},
      'What roles of your identity provider may do, such as `clerks: ["writer:shop-*"]`. A change restarts the pods.',
    ),
  }),
  peer: group('How nodes prove to each other that they belong to the cluster.', {
    security: value(
      oneOf('secret', 'certManager', 'tlsSecret', 'none'),
      'secret',
      'secret: TLS by a secret that all nodes share; nothing expires. certManager: TLS with certificates that cert-manager issues. tlsSecret: TLS with the certificate of existingSecret. none: no TLS; everybody who reaches the port may do everything.',
    ),
    existingSecret: value(
      text,
      '',
      'With security: secret a Secret with the shared secret; without it the chart makes one, and keeps it (see auth.existingSecret). With tlsSecret a Secret with tls.crt, tls.key and ca.crt for servers and clients.',
    ),
    secretKey: value(text, 'peer-secret', 'Where in the Secret the shared secret is.'),
    caConfigMap: caConfigMap('ca.crt'),
    prefer: value(
      flag,
      false,
      'Whether connections without TLS are accepted, too: for the time in which a running cluster changes to TLS, or back.',
    ),
    certManager: certManager('an authority that signs for the nodes and operators of this cluster alone.'),
  }),
  tls: group('TLS at the ports of clients: gRPC, HTTP, MCP and metrics.', {
    security: value(
      oneOf('none', 'certManager', 'tlsSecret'),
      'none',
      'none: no TLS, keys and events travel as they are. certManager: a certificate that cert-manager issues. tlsSecret: the one of existingSecret. A renewed certificate is used within seconds; no pod restarts.',
    ),
    existingSecret: value(
      text,
      '',
      'With security: tlsSecret a Secret with tls.crt and tls.key, for the names of the pods (*.NAME-headless.NAMESPACE.svc.DOMAIN) and of the Service.',
    ),
    caKey: value(
      text,
      'ca.crt',
      'Where in that Secret the authority is, by which nodes know each other and Prometheus knows them. Empty: the authorities that Node comes with.',
    ),
    caConfigMap: caConfigMap('caKey'),
    extraNames: value(
      texts,
      [],
      'Further DNS names in the certificate of cert-manager, such as those that clients use outside.',
    ),
    clientAuth: value(
      oneOf('none', 'request', 'require'),
      'none',
      'Whether clients of gRPC show certificates: none, those that have one (request), or all (require).',
    ),
    clientCaSecret: value(
      text,
      '',
      'A Secret with the authorities of clients. Certificates of nodes must be of them, too.',
    ),
    clientCaKey: value(text, 'ca.crt', 'Where in that Secret they are.'),
    certManager: certManager('an authority that your clients know.'),
  }),
  networkPolicy: group('Who reaches the pods. It counts where the network of the cluster enforces it.', {
    enabled: value(flag, true, 'Whether there is one. The peer port is open to pods of this cluster alone.'),
    clients: value(
      objects,
      [],
      'From where clients reach gRPC, HTTP and MCP, as `from` of a NetworkPolicy. Empty: from everywhere. The gRPC port also serves the admin API (ClusterAdmin), which is guarded by the role `admin` alone.',
    ),
    metrics: METRICS_FROM,
    peers: value(objects, [], 'From where the peer port is reached, beside the pods of this cluster.'),
    egress: group('Where the pods may connect to.', {
      restricted: value(flag, false, 'Whether only to DNS, to each other, and to what `to` says.'),
      to: value(objects, [], 'Further rules, such as for an identity provider or a collector of traces.'),
    }),
  }),
  serviceAccount: group('The account of the pods.', {
    create: value(flag, true, 'Whether the chart makes it.'),
    name: value(text, '', 'Its name. Without it that of the release, or default where the chart makes none.'),
    annotations: value(textMap, {}, 'Annotations.'),
  }),
  podSecurityContext: value(
    anyObject,
    {
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      fsGroup: 65_532,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    },
    'Rights of the pod, by the standard "restricted". In OpenShift set runAsUser, runAsGroup and fsGroup to null.',
  ),
  securityContext: value(
    anyObject,
    {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    'Rights of the container.',
  ),
  hostUsers: value(
    { type: ['boolean', 'null'] },
    null,
    'false: the pods have user ids of their own on the Kubernetes node.',
  ),
};

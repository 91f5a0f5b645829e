/**
 * The objects of cairn.dev/v1alpha1 as the API server answers them: fields with a default are there.
 *
 * Generated from the declarations in the folder above by `npm run docs`.
 */

export interface Metadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Image {
  /**
   * Repository, such as registry.example.com/team/cairn. The default is the repository that the operator was installed
   * with.
   */
  readonly repository?: string;
  /** Digest of the image, used instead of the version as its tag. Change both together. */
  readonly digest?: string;
  /** Pull policy of the image. */
  readonly pullPolicy: 'IfNotPresent' | 'Always' | 'Never';
  /** Secrets for the registry. */
  readonly pullSecretNames?: readonly string[];
}

export interface StorageGrowth {
  /** Size up to which volumes are grown. */
  readonly maxSize: string;
  /** Share of the volume that is in use when the operator grows it. */
  readonly thresholdPercent: number;
}

export interface Storage {
  /** Size of the volume of each node. It can be raised at any time, and cannot be lowered. */
  readonly size: string;
  /**
   * Storage class; by default that of the Kubernetes cluster. Use local or block storage that allows expansion. A
   * change applies to new volumes.
   */
  readonly storageClassName?: string;
  /** Automatic growth of volumes that are nearly full. */
  readonly autoGrow?: StorageGrowth;
}

export interface Resources {
  /** Amounts that are reserved for the container, by resource. */
  readonly requests?: Readonly<Record<string, number | string>>;
  /** Amounts that the container may use at most, by resource. */
  readonly limits?: Readonly<Record<string, number | string>>;
}

export interface IssuerRef {
  /** The name of the issuer. */
  readonly name: string;
  /** Issuer, ClusterIssuer, or the kind of an external issuer. */
  readonly kind: string;
  /** Its API group. */
  readonly group: string;
}

export interface ClientCertificates {
  /** Require: every client of gRPC shows a certificate. Request: a client may show one. */
  readonly mode: 'Request' | 'Require';
  /** A Secret with the authorities of clients, as ca.crt. Those of the nodes are added. */
  readonly caSecretName: string;
}

export interface TLS {
  /** The issuer of cert-manager that signs the certificate. */
  readonly issuerRef?: IssuerRef;
  /**
   * An existing Secret with tls.crt, tls.key and ca.crt, for the names of the pods
   * (*.NAME-headless.NAMESPACE.svc.DOMAIN) and of the Service. A renewed certificate is used within seconds.
   */
  readonly secretName?: string;
  /**
   * A ConfigMap with authorities as ca.crt, which are trusted instead of the one in the Secret: two of them while one
   * replaces the other. Changes in it restart no pod.
   */
  readonly caConfigMapName?: string;
  /** true: keys and events travel unencrypted. TLS cannot be disabled once a cluster has it. */
  readonly disabled: boolean;
  /** Further names in the certificate, such as those that clients use outside. */
  readonly dnsNames?: readonly string[];
  /** Validity of a certificate. */
  readonly duration: string;
  /** Time before its end at which a certificate is renewed. */
  readonly renewBefore: string;
  /** Certificates that clients of gRPC show. */
  readonly clientCertificates?: ClientCertificates;
}

export interface Peers {
  /** The issuer of cert-manager that signs certificates for the nodes of this cluster alone. */
  readonly issuerRef?: IssuerRef;
  /** An existing Secret with tls.crt, tls.key and ca.crt for servers and clients. */
  readonly secretName?: string;
  /**
   * A ConfigMap with authorities as ca.crt, which are trusted instead of the one in the Secret: two of them while one
   * replaces the other. Changes in it restart no pod.
   */
  readonly caConfigMapName?: string;
}

export interface ProviderGrant {
  /** The role of Cairn (docs/security.md). */
  readonly role: 'reader' | 'writer' | 'deployer' | 'admin';
  /** Names of databases, where * stands for any characters. */
  readonly databases: string;
}

export interface ProviderRole {
  /** The role, as the identity provider names it. */
  readonly name: string;
  /** Roles of Cairn that it has. */
  readonly grants: readonly ProviderGrant[];
}

export interface Auth {
  /** true: requests need a credential. false: everybody who reaches a port may do everything. */
  readonly enabled: boolean;
  /**
   * An existing Secret with the key of the first administrator, as bootstrap-key. Without it the operator makes a
   * random key, in the Secret that status.adminSecretName names.
   */
  readonly adminSecretName?: string;
  /** Roles of your identity provider and their permissions. A change restarts the pods. */
  readonly roles?: readonly ProviderRole[];
}

export interface ClientService {
  /** The type of the Service. */
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer';
  /** Annotations of the Service, such as those that a load balancer reads. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Class of the load balancer. */
  readonly loadBalancerClass?: string;
  /**
   * Local: the load balancer keeps the address of the client, and sends traffic only to Kubernetes nodes with a pod.
   */
  readonly externalTrafficPolicy?: 'Cluster' | 'Local';
  /** The ranges of addresses that the load balancer accepts clients from. */
  readonly loadBalancerSourceRanges?: readonly string[];
}

export interface ExternalAccess {
  /**
   * The domain in which each pod has a name outside: NAME-0.events.example.com is in events.example.com. Clients that
   * connect by a name in this domain receive the address of a leader in this domain. The names are in the certificate,
   * unless tls.secretName gives one. A change restarts the pods.
   */
  readonly domain: string;
  /** The type of the Service of each pod. */
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer';
  /** The port of gRPC there; without it 50051. Behind a Gateway it is usually 443. */
  readonly port?: number;
  /** Annotations of the Service of each pod. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface GatewayRef {
  /** The name of the Gateway. */
  readonly name: string;
  /** Its namespace; without it that of the cluster. */
  readonly namespace?: string;
  /** The listener of the Gateway; without it all that fit. */
  readonly sectionName?: string;
}

export interface GatewayRoutes {
  /** The Gateways that the routes belong to. */
  readonly parentRefs: readonly GatewayRef[];
  /** Host names of a GRPCRoute to all nodes; without them there is no such route. */
  readonly grpcHostnames?: readonly string[];
  /** Host names of an HTTPRoute to all nodes; without them there is no such route. */
  readonly httpHostnames?: readonly string[];
  /** The path of the MCP endpoint in the HTTPRoute, such as /mcp; without it there is none. */
  readonly mcpPath?: string;
  /** true: each pod has a TLSRoute for its name in network.external.domain, and TLS ends at the pod. */
  readonly passthrough: boolean;
}

export interface IngressRoutes {
  /** Class of the Ingress; by default that of the Kubernetes cluster. */
  readonly className?: string;
  /** Host names of the HTTP API. */
  readonly hostnames?: readonly string[];
  /** Host names of the MCP endpoint. With an identity provider set config.mcpUrl, too. */
  readonly mcpHostnames?: readonly string[];
  /** A Secret with a certificate for all of these names; without it no TLS there. */
  readonly tlsSecretName?: string;
  /** Annotations for the controller. With TLS at the nodes, one of them must say HTTPS. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface LabelRequirement {
  /** The label. */
  readonly key: string;
  /** Comparison with the values. */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /** The values, for In and NotIn. */
  readonly values?: readonly string[];
}

export interface LabelSelector {
  /** Labels that objects must have, with these values. */
  readonly matchLabels?: Readonly<Record<string, string>>;
  /** Requirements that labels must meet, all of them. */
  readonly matchExpressions?: readonly LabelRequirement[];
}

export interface AddressBlock {
  /** A range of addresses, such as 10.0.0.0/8. */
  readonly cidr: string;
  /** Ranges inside it that are left out. */
  readonly except?: readonly string[];
}

export interface NetworkPeer {
  /** Pods by their labels. */
  readonly podSelector?: LabelSelector;
  /** Namespaces by their labels; without it the namespace of the cluster. */
  readonly namespaceSelector?: LabelSelector;
  /** Addresses. */
  readonly ipBlock?: AddressBlock;
}

export interface NetworkAccess {
  /** true: there is a NetworkPolicy, and the peer port is open to the pods of this cluster only. */
  readonly enabled: boolean;
  /** Sources from which clients may connect to gRPC, HTTP and MCP. By default all. */
  readonly clients?: readonly NetworkPeer[];
  /** Sources from which metrics may be read. By default the namespace monitoring. */
  readonly metrics?: readonly NetworkPeer[];
}

export interface Network {
  /** Service for clients. Any node answers, and forwards requests for databases that another node leads. */
  readonly service: ClientService;
  /** A Service and a name for each pod, so that clients outside reach the leader of a database. */
  readonly external?: ExternalAccess;
  /** Routes of the Gateway API. */
  readonly gateway?: GatewayRoutes;
  /** An Ingress to HTTP and MCP, where there is no Gateway. gRPC needs a Gateway or a Service. */
  readonly ingress?: IngressRoutes;
  /** Access to the pods. It needs a network that enforces NetworkPolicies. */
  readonly policy: NetworkAccess;
  /** true: the nodes serve the Model Context Protocol. */
  readonly mcp: boolean;
  /** Family of the addresses that nodes listen on. With IPv6 nodes accept IPv4, too, where pods have both. */
  readonly ipFamily: 'IPv4' | 'IPv6';
  /** The DNS domain of the Kubernetes cluster. It cannot be changed. */
  readonly clusterDomain: string;
}

export interface Spread {
  /**
   * Over Kubernetes nodes. DoNotSchedule: no Kubernetes node has two pods more than another one, also where that one is
   * cordoned; a pod waits until then. ScheduleAnyway: only where possible.
   */
  readonly node: 'DoNotSchedule' | 'ScheduleAnyway';
  /** Over zones. */
  readonly zone: 'DoNotSchedule' | 'ScheduleAnyway';
}

export interface SpreadConstraint {
  /** The label of Kubernetes nodes to spread over. */
  readonly topologyKey: string;
  /** Largest difference in the number of pods between two topology domains. */
  readonly maxSkew: number;
  /** Handling of a pod that does not meet the constraint. */
  readonly whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway';
  /** The pods that are counted; without it those of the cluster. */
  readonly labelSelector?: LabelSelector;
  /** Smallest number of topology domains. */
  readonly minDomains?: number;
  /** Honor: only Kubernetes nodes that match the affinity count. */
  readonly nodeAffinityPolicy?: 'Honor' | 'Ignore';
  /** Honor: only Kubernetes nodes whose taints are tolerated count. */
  readonly nodeTaintsPolicy?: 'Honor' | 'Ignore';
}

export interface NodeRequirement {
  /** Label of the Kubernetes node, or name of its field. */
  readonly key: string;
  /** Comparison with the values. */
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  /** The values. */
  readonly values?: readonly string[];
}

export interface NodeTerm {
  /** Requirements on labels, all of them. */
  readonly matchExpressions?: readonly NodeRequirement[];
  /** Requirements on fields, all of them. */
  readonly matchFields?: readonly NodeRequirement[];
}

export interface NodeTerms {
  /** Terms, any of which may match. */
  readonly nodeSelectorTerms: readonly NodeTerm[];
}

export interface PreferredNodeTerm {
  /** Weight of the preference. */
  readonly weight: number;
  /** The term. */
  readonly preference: NodeTerm;
}

export interface NodeAffinity {
  /** Requirements on Kubernetes nodes. */
  readonly requiredDuringSchedulingIgnoredDuringExecution?: NodeTerms;
  /** Preferences among Kubernetes nodes. */
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly PreferredNodeTerm[];
}

export interface PodTerm {
  /** Label of Kubernetes nodes; nodes with the same value are one topology domain. */
  readonly topologyKey: string;
  /** Pods by their labels. */
  readonly labelSelector?: LabelSelector;
  /** Names of namespaces; without them and a selector, that of the pod. */
  readonly namespaces?: readonly string[];
  /** Namespaces by their labels. */
  readonly namespaceSelector?: LabelSelector;
}

export interface PreferredPodTerm {
  /** Weight of the preference. */
  readonly weight: number;
  /** The term. */
  readonly podAffinityTerm: PodTerm;
}

export interface PodAffinity {
  /** Requirements. */
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodTerm[];
  /** Preferences. */
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly PreferredPodTerm[];
}

export interface Affinity {
  /** Affinity to Kubernetes nodes. */
  readonly nodeAffinity?: NodeAffinity;
  /** Affinity to other pods. */
  readonly podAffinity?: PodAffinity;
  /** Anti-affinity to other pods. */
  readonly podAntiAffinity?: PodAffinity;
}

export interface Toleration {
  /** The key of the taint; without it all keys, with the operator Exists. */
  readonly key?: string;
  /** Comparison with the value. The default is Equal. */
  readonly operator?: 'Exists' | 'Equal';
  /** The value of the taint. */
  readonly value?: string;
  /** The effect of the taint; without it all effects. */
  readonly effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  /** Time that pods stay on a Kubernetes node with a NoExecute taint. By default they stay. */
  readonly tolerationSeconds?: number;
}

export interface Placement {
  /** Spread of the pods of the cluster. */
  readonly spread: Spread;
  /** Further constraints, as in a pod. */
  readonly topologySpreadConstraints?: readonly SpreadConstraint[];
  /** Labels of the Kubernetes nodes that pods run on. */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** Affinity, as in a pod. */
  readonly affinity?: Affinity;
  /** Taints that pods tolerate, as in a pod. */
  readonly tolerations?: readonly Toleration[];
  /** The priority of the pods. */
  readonly priorityClassName?: string;
  /** false: pods have user ids of their own on the Kubernetes node. */
  readonly hostUsers?: boolean;
}

export interface Monitoring {
  /**
   * Objects for the Prometheus operator: a monitor and alerts. Auto: only where the Kubernetes cluster serves its API.
   */
  readonly mode: 'Auto' | 'Always' | 'Never';
  /** Kind of object by which Prometheus finds the metrics. */
  readonly scrapeBy: 'ServiceMonitor' | 'PodMonitor';
  /** Time between two scrapes of the metrics. */
  readonly interval: string;
  /** Labels by which your Prometheus selects the objects, such as `release: prometheus`. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Names of alerts that are left out. */
  readonly disabledAlerts?: readonly string[];
  /** Prefix of the pages that alerts link to, such as https://wiki.example.com/cairn/. */
  readonly runbooksURL?: string;
  /** true: ConfigMaps with dashboards for Grafana are created. */
  readonly dashboards: boolean;
}

export interface Update {
  /**
   * Rolling: the operator replaces one pod after the other, and moves leaderships off each first. OnDelete: a pod is
   * replaced after it has been deleted.
   */
  readonly strategy: 'Rolling' | 'OnDelete';
  /** true: no further pod is replaced. The replacement of a pod that has begun is finished. */
  readonly paused: boolean;
  /** Time that a pod has to transfer its leaderships before it stops. */
  readonly drainTimeoutSeconds: number;
  /** Time that a replaced pod must be ready before the next one is replaced. */
  readonly stableSeconds: number;
  /**
   * Point at which an upgrade becomes final; the previous release cannot run afterwards. Automatic:
   * finalizeAfterSeconds after all nodes run the new release. Manual: when you run cairn cluster finalize.
   */
  readonly finalize: 'Automatic' | 'Manual';
  /** Time for which a rollback stays possible, with finalize: Automatic. */
  readonly finalizeAfterSeconds: number;
}

export interface Repair {
  /**
   * Automatic: the operator replaces a node that has lost its volume or its Kubernetes node by one with an empty
   * volume, as long as the other nodes have a quorum. Manual: the node stays as it is until you act.
   */
  readonly policy: 'Automatic' | 'Manual';
  /** Time that a node must be lost before it is replaced. */
  readonly afterSeconds: number;
}

export interface Recovery {
  /** Any text. The operator recovers once for each id, and then sets status.recoveryID to it. */
  readonly id: string;
  /** Name of the pod whose data the cluster continues with. */
  readonly survivor: string;
  /** Must be true: transactions that only the lost nodes had are lost by the recovery. */
  readonly acknowledgeDataLoss: boolean;
  /**
   * Only when the catalog has lost its quorum for good: the code that the condition Progressing shows, with the reason
   * LossNotAccepted. The cluster then continues with the data of the survivor alone, and the volumes of all other pods
   * are deleted.
   */
  readonly acceptLoss?: string;
}

export interface CairnClusterSpec {
  /**
   * Number of nodes. 3 nodes stay available when one fails, 5 when two fail, 7 when three fail; a single node is
   * unavailable while its pod restarts. A change restarts no pod.
   */
  readonly replicas: number;
  /**
   * Number of further nodes that have a replica of every database, answer reads and do not vote. They add capacity for
   * reads, and none for writes. A change restarts no pod.
   */
  readonly learners: number;
  /** Release of Cairn that the nodes run, such as 0.1.0. It is the tag of the image unless image.digest is set. */
  readonly version: string;
  /** The image of the nodes. */
  readonly image: Image;
  /** The volume of each node. */
  readonly storage: Storage;
  /**
   * Resources of a node. Do not limit cpu: a throttled node misses heartbeats. A node sizes its memory by the limit.
   */
  readonly resources: Resources;
  /**
   * TLS at the ports for clients. By default the operator issues certificates by an authority of this cluster and
   * renews them; status.caSecretName names the Secret with the authority.
   */
  readonly tls: TLS;
  /** Authentication between the nodes. By default the nodes share a secret that the operator creates. */
  readonly peers: Peers;
  /** Authentication and authorization of clients. */
  readonly auth: Auth;
  /** Services, names and access from the network. */
  readonly network: Network;
  /** Placement of the pods on Kubernetes nodes. */
  readonly placement: Placement;
  /**
   * Settings of the nodes by their names in docs/configuration.md, such as `rateLimitPerSecond: 100`. A change restarts
   * the pods, one after the other. Write on, off and fractions in quotes.
   */
  readonly config?: Readonly<Record<string, number | string>>;
  /** Merged into the template of the pods, as kubectl patch does (strategic merge); the container is called cairn. */
  readonly podTemplate?: Readonly<Record<string, unknown>>;
  /** Objects for the Prometheus operator and for Grafana. */
  readonly monitoring: Monitoring;
  /** Replacement of pods by an upgrade or another change. */
  readonly update: Update;
  /** Replacement of lost nodes. */
  readonly repair: Repair;
  /** Any text. A change restarts the pods, one after the other. */
  readonly restartKey?: string;
  /**
   * Recovery with the data of one node, when most replicas of databases are lost for good. When most voters of the
   * catalog are lost, all nodes are stopped first, and acceptLoss is needed, too.
   */
  readonly recovery?: Recovery;
  /** Whether the volumes are kept or deleted when the CairnCluster is deleted. */
  readonly reclaimPolicy: 'Retain' | 'Delete';
}

export interface Condition {
  /** Type of the condition. */
  readonly type: string;
  /** Status of the condition. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** metadata.generation that the condition was set for. */
  readonly observedGeneration: number;
  /** Time at which the status of the condition last changed. */
  readonly lastTransitionTime: string;
  /** Reason as one word, for programs. */
  readonly reason: string;
  /** Reason as a sentence, for people. */
  readonly message: string;
}

export interface Member {
  /** The name of the pod. */
  readonly name: string;
  /** Number of the node, as in cairn cluster status. */
  readonly id?: number;
  /** Part of the node in the Raft group of the catalog. */
  readonly role?: 'Voter' | 'Learner' | 'None';
  /** The release that the node runs. */
  readonly version?: string;
  /** The zone that the node is in. */
  readonly zone?: string;
  /** true: the pod is ready. */
  readonly ready: boolean;
}

export interface Endpoints {
  /** Address of gRPC, as host:port. */
  readonly grpc?: string;
  /** URL of HTTP. */
  readonly http?: string;
  /** URL of MCP. */
  readonly mcp?: string;
}

export interface CairnClusterStatus {
  /** metadata.generation that the status describes. */
  readonly observedGeneration?: number;
  /**
   * Observed conditions. Types: Ready, QuorumHealthy, Progressing, VersionUniform, TLSReady, StorageHealthy,
   * ComponentsSynced, ConfigurationApplied, Quiesced, Stable.
   */
  readonly conditions?: readonly Condition[];
  /** Number of pods, without learners. */
  readonly replicas?: number;
  /** Number of pods that are ready, without learners. */
  readonly readyReplicas?: number;
  /** Number of pods of learners. */
  readonly learners?: number;
  /** Number of pods of learners that are ready. */
  readonly readyLearners?: number;
  /** The labels of the pods, as a selector. */
  readonly selector?: string;
  /** The release that all nodes run; the oldest one during an upgrade. */
  readonly version?: string;
  /** The release that the nodes are brought to. */
  readonly targetVersion?: string;
  /** The id that the cluster was founded with. */
  readonly clusterID?: string;
  /** Nodes, in the order of their names. */
  readonly members?: readonly Member[];
  /** Addresses of the Service for clients. */
  readonly endpoints?: Endpoints;
  /** The Secret with the key of the first administrator, as bootstrap-key. */
  readonly adminSecretName?: string;
  /** The Secret with the authority of the certificates, as ca.crt. */
  readonly caSecretName?: string;
  /** Size of the volumes. It exceeds spec.storage.size after automatic growth. */
  readonly storageSize?: string;
  /** The lowest release that can run: the upgrade to it is final, or becomes so next. */
  readonly finalVersion?: string;
  /** The feature level that finalVersion brings. */
  readonly finalLevel?: number;
  /** The id of the last recovery that was carried out. */
  readonly recoveryID?: string;
  /**
   * Stage of a recovery of the catalog, during which all nodes are stopped. Stopped: nothing has changed yet. Founded:
   * there is a new cluster with the data of recoverySurvivor.
   */
  readonly recoveryStage?: 'Stopped' | 'Founded';
  /** The pod whose data the new cluster has, with recoveryStage Founded. */
  readonly recoverySurvivor?: string;
}

export interface ClusterRef {
  /** The name of the CairnCluster. */
  readonly name: string;
}

export interface EventDatabaseSpec {
  /** The CairnCluster, in the same namespace. */
  readonly clusterRef: ClusterRef;
  /** The name of the database; without it metadata.name. It cannot be changed. */
  readonly name?: string;
  /**
   * Number of nodes that store the database and vote for its transactions. It may exceed the number of nodes: replicas
   * are added when there are more. The default is the setting copies of the cluster, 3.
   */
  readonly copies?: number;
  /**
   * Handling of a database that exists before the resource. Create: create the database, and report an error when it
   * exists. Adopt: take over the database that exists. Either: adopt it when it exists, else create it.
   */
  readonly adoptionPolicy: 'Create' | 'Adopt' | 'Either';
  /**
   * Whether the database is kept or deleted when the EventDatabase is deleted. Delete only deletes the database with
   * the id in status.databaseID, never another one of the same name.
   */
  readonly reclaimPolicy: 'Retain' | 'Delete';
}

export interface EventDatabaseStatus {
  /** metadata.generation that the status describes. */
  readonly observedGeneration?: number;
  /** Observed conditions. Types: Ready, Created. */
  readonly conditions?: readonly Condition[];
  /** The name of the database in the cluster. */
  readonly databaseName?: string;
  /** The id of the database, which no other database has, also not one of the same name. */
  readonly databaseID?: string;
  /** Time at which the database was created. */
  readonly createdAt?: string;
}

export interface Databases {
  /** The names of EventDatabases in the same namespace. */
  readonly names?: readonly string[];
  /** Labels of EventDatabases in the same namespace; {} selects all of them. */
  readonly selector?: LabelSelector;
}

export interface OCISource {
  /**
   * The artifact, by a tag or a digest: registry.example.com/team/balances:1.2.0. A tag is resolved when the resource
   * changes. Its single layer is the component, of the type application/wasm or application/octet-stream.
   */
  readonly reference: string;
  /** A Secret of the type kubernetes.io/dockerconfigjson with the credential for the registry. */
  readonly pullSecretName?: string;
}

export interface ConfigMapSource {
  /** The name of the ConfigMap, in the same namespace. */
  readonly name: string;
  /** The key whose value is the component. */
  readonly key: string;
}

export interface SecretSource {
  /** The name of the Secret, in the same namespace. */
  readonly name: string;
  /** The key whose value is the component. */
  readonly key: string;
}

export interface ComponentSource {
  /** An artifact in an OCI registry. */
  readonly oci?: OCISource;
  /** A key of binaryData of a ConfigMap; it has 1 MiB at most. */
  readonly configMap?: ConfigMapSource;
  /** A key of a Secret; it has 1 MiB at most. */
  readonly secret?: SecretSource;
}

export interface EventParameter {
  /** The name of the parameter; a read binds account_id of a Subject as subject.account_id. */
  readonly name: string;
  /** Attribute of the event that the value is compared with. */
  readonly attribute: 'Stream' | 'StreamPrefix' | 'EventType' | 'EventTypePrefix' | 'Subject' | 'SubjectPrefix';
}

export interface EventSelector {
  /** The stream. */
  readonly stream?: string;
  /** Prefix of the stream. */
  readonly streamPrefix?: string;
  /** The event type. */
  readonly eventType?: string;
  /** Prefix of the event type. */
  readonly eventTypePrefix?: string;
  /** The subject. */
  readonly subject?: string;
  /** Prefix of the subject. */
  readonly subjectPrefix?: string;
  /** The source, a URI reference. */
  readonly source?: string;
  /** true: events that have no subject. */
  readonly withoutSubject?: boolean;
  /** Attributes whose values are given by each read. */
  readonly parameters?: readonly EventParameter[];
}

export interface ContentSchema {
  /** The URI of the schema. */
  readonly uri?: string;
  /** The JSON Schema itself, kept as it is written here. */
  readonly json?: string;
}

export interface PresenterRef {
  /** The name of the presenter, as it is published in the databases. */
  readonly name: string;
  /** Its version; without it its latest one at the revision of each read. */
  readonly version?: number;
}

export interface RolloutStep {
  /** The databases of this step, by labels of their EventDatabases. */
  readonly selector?: LabelSelector;
  /** Share of all databases that have the new version after this step. */
  readonly percent?: number;
  /** Time that the new version is observed before the next step. */
  readonly observeSeconds: number;
}

export interface RolloutAnalysis {
  /** Share of calls that may fail. A command that the component refuses is not a failure. */
  readonly maxErrorPercent?: number;
  /** Number of calls that may trap. */
  readonly maxTraps?: number;
  /** Time within which 99 of 100 folds must end. */
  readonly maxFoldMilliseconds?: number;
  /** RollBack: the previous version becomes active again. Pause: the rollout stops until the spec changes. */
  readonly onFailure: 'RollBack' | 'Pause';
}

export interface Rollout {
  /** All: all databases at once. Canary: databases step by step, then the rest. */
  readonly strategy: 'All' | 'Canary';
  /** The steps, in this order. */
  readonly steps?: readonly RolloutStep[];
  /** Limits that the new version must meet before the next step. Without them only time passes. */
  readonly analysis?: RolloutAnalysis;
  /** Time that the nodes have to compile a version before the rollout counts as stuck. */
  readonly timeoutSeconds: number;
}

export interface StateViewSpec {
  /** The databases that the component is published in. */
  readonly databases: Databases;
  /** The name of the component; without it metadata.name. It cannot be changed. */
  readonly name?: string;
  /** Purpose of the component. */
  readonly description?: string;
  /** URI of the source code. */
  readonly sourceCodeURI?: string;
  /** Origin of the WebAssembly component. */
  readonly source: ComponentSource;
  /**
   * Selectors of the events that are folded. An event is folded when any of them matches. A selector matches events
   * that have all of its fields; {} matches every event.
   */
  readonly events?: readonly EventSelector[];
  /** Types of the events that are folded. With events, an event must match both. */
  readonly eventTypes?: readonly string[];
  /** The order in which events are folded. Revision: as they were recorded. EffectiveTime: by their own time. */
  readonly temporality: 'Revision' | 'EffectiveTime';
  /** None: one state. String or Int64: one state for each subject, which a read gives as subject.key. */
  readonly keyType: 'None' | 'String' | 'Int64';
  /** The media type of the rendered state, such as application/json. */
  readonly contentType: string;
  /** A schema of the rendered state. */
  readonly contentSchema?: ContentSchema;
  /** The presenter that renders the state. */
  readonly presenter?: PresenterRef;
  /** State Views of a higher priority are folded first. */
  readonly priority: 'Low' | 'Normal' | 'High';
  /**
   * Time at which events are folded. Lazy: when the state is read. Eager: as events are recorded. Scheduled: at
   * intervals.
   */
  readonly maintenance: 'Lazy' | 'Eager' | 'Scheduled';
  /** The exported function that folds; without it the usual one. */
  readonly reduceFunction?: string;
  /** false: all versions are deactivated and kept; the State View cannot be read. */
  readonly active: boolean;
  /** Order in which databases get a new version. */
  readonly rollout: Rollout;
  /**
   * Number of versions before the active one that are kept in each database; older ones are deleted. By default all are
   * kept.
   */
  readonly retainVersions?: number;
  /** Whether the component stays in the databases when the resource is deleted. */
  readonly reclaimPolicy: 'Retain' | 'Delete';
}

export interface ComponentDatabase {
  /** The name of the EventDatabase. */
  readonly name: string;
  /** Active version. Each database numbers its versions itself. */
  readonly version?: number;
  /** The digest of that version. */
  readonly digest?: string;
  /** Version of the component of the source, also before it is active. */
  readonly publishedVersion?: number;
  /** SHA-256 of the component and the metadata that this version was published of. */
  readonly publication?: string;
  /** Number of nodes that have compiled it. */
  readonly nodesReady?: number;
  /** Number of nodes. */
  readonly nodesTotal?: number;
  /** Error of the component in this database. */
  readonly message?: string;
}

export interface StateViewStatus {
  /** metadata.generation that the status describes. */
  readonly observedGeneration?: number;
  /** Observed conditions. Types: Ready, SourceReady, Published, Distributed, Progressing, Healthy. */
  readonly conditions?: readonly Condition[];
  /** SHA-256 of the component of the source, as sha256: and 64 digits. */
  readonly digest?: string;
  /** First 12 digits of the digest. */
  readonly shortDigest?: string;
  /** The SHA-256 of the component that a rollback activates. */
  readonly previousDigest?: string;
  /** The step of the rollout, from 1 on; absent without a rollout. */
  readonly step?: number;
  /** Time at which the step began; absent when all databases have the component. */
  readonly stepSince?: string;
  /** Time since which the databases of the step are observed. */
  readonly observedSince?: string;
  /** Number of databases that are selected. */
  readonly databasesTotal?: number;
  /** Number of databases in which the component of the source is active. */
  readonly databasesReady?: number;
  /** Databases, in the order of their names. */
  readonly databases?: readonly ComponentDatabase[];
}

export interface StateChangeSpec {
  /** The databases that the component is published in. */
  readonly databases: Databases;
  /** The name of the component; without it metadata.name. It cannot be changed. */
  readonly name?: string;
  /** Purpose of the component. */
  readonly description?: string;
  /** URI of the source code. */
  readonly sourceCodeURI?: string;
  /** Origin of the WebAssembly component. */
  readonly source: ComponentSource;
  /** The State Views that it reads. They are published before it. */
  readonly stateViewNames?: readonly string[];
  /** Order in which databases get a new version. */
  readonly rollout: Rollout;
  /**
   * Number of versions before the active one that are kept in each database; older ones are deleted. By default all are
   * kept.
   */
  readonly retainVersions?: number;
  /** Whether the component stays in the databases when the resource is deleted. */
  readonly reclaimPolicy: 'Retain' | 'Delete';
}

export interface StateChangeStatus {
  /** metadata.generation that the status describes. */
  readonly observedGeneration?: number;
  /** Observed conditions. Types: Ready, SourceReady, Published, Distributed, Progressing, Healthy. */
  readonly conditions?: readonly Condition[];
  /** SHA-256 of the component of the source, as sha256: and 64 digits. */
  readonly digest?: string;
  /** First 12 digits of the digest. */
  readonly shortDigest?: string;
  /** The SHA-256 of the component that a rollback activates. */
  readonly previousDigest?: string;
  /** The step of the rollout, from 1 on; absent without a rollout. */
  readonly step?: number;
  /** Time at which the step began; absent when all databases have the component. */
  readonly stepSince?: string;
  /** Time since which the databases of the step are observed. */
  readonly observedSince?: string;
  /** Number of databases that are selected. */
  readonly databasesTotal?: number;
  /** Number of databases in which the component of the source is active. */
  readonly databasesReady?: number;
  /** Databases, in the order of their names. */
  readonly databases?: readonly ComponentDatabase[];
}

export interface OfferedContent {
  /** The media type, such as text/csv. */
  readonly contentType: string;
  /** The URI of a schema of the content. */
  readonly schema?: string;
}

export interface PresenterSpec {
  /** The databases that the component is published in. */
  readonly databases: Databases;
  /** The name of the component; without it metadata.name. It cannot be changed. */
  readonly name?: string;
  /** Purpose of the component. */
  readonly description?: string;
  /** URI of the source code. */
  readonly sourceCodeURI?: string;
  /** Origin of the WebAssembly component. */
  readonly source: ComponentSource;
  /** The contents that it offers, the most preferred first. */
  readonly offers: readonly OfferedContent[];
  /** Settings that the presenter receives with every presentation. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Order in which databases get a new version. */
  readonly rollout: Rollout;
  /**
   * Number of versions before the active one that are kept in each database; older ones are deleted. By default all are
   * kept.
   */
  readonly retainVersions?: number;
  /** Whether the component stays in the databases when the resource is deleted. */
  readonly reclaimPolicy: 'Retain' | 'Delete';
}

export interface PresenterStatus {
  /** metadata.generation that the status describes. */
  readonly observedGeneration?: number;
  /** Observed conditions. Types: Ready, SourceReady, Published, Distributed, Progressing, Healthy. */
  readonly conditions?: readonly Condition[];
  /** SHA-256 of the component of the source, as sha256: and 64 digits. */
  readonly digest?: string;
  /** First 12 digits of the digest. */
  readonly shortDigest?: string;
  /** The SHA-256 of the component that a rollback activates. */
  readonly previousDigest?: string;
  /** The step of the rollout, from 1 on; absent without a rollout. */
  readonly step?: number;
  /** Time at which the step began; absent when all databases have the component. */
  readonly stepSince?: string;
  /** Time since which the databases of the step are observed. */
  readonly observedSince?: string;
  /** Number of databases that are selected. */
  readonly databasesTotal?: number;
  /** Number of databases in which the component of the source is active. */
  readonly databasesReady?: number;
  /** Databases, in the order of their names. */
  readonly databases?: readonly ComponentDatabase[];
}

export interface GrantedDatabases {
  /** The names of EventDatabases in the same namespace. */
  readonly names?: readonly string[];
  /** Labels of EventDatabases in the same namespace; {} selects all of them. */
  readonly selector?: LabelSelector;
  /** Names of databases in the cluster, where * stands for any characters; * alone is all of them. */
  readonly pattern?: string;
}

export interface AccessGrant {
  /** reader reads; writer also writes; deployer reads and publishes components; admin may do everything. */
  readonly role: 'reader' | 'writer' | 'deployer' | 'admin';
  /** The databases that the role is given on. */
  readonly databases: GrantedDatabases;
  /** Number of databases that the pattern may name before admin creates no more of them. */
  readonly maxDatabases?: number;
}

export interface KeySecret {
  /** The name of the Secret; without it metadata.name. It cannot be changed. */
  readonly name?: string;
  /** Key of the Secret that has the API key. It does not begin with a dot. */
  readonly key: string;
  /** Labels of the Secret. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations of the Secret. */
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Rotation {
  /** Days after which the key is replaced. By default it is replaced only when rotateKey changes. */
  readonly everyDays?: number;
  /** Time for which a replaced key stays valid, also when the grants change. */
  readonly overlapSeconds: number;
  /** Any text. A change replaces the key. */
  readonly rotateKey?: string;
}

export interface EventAccessSpec {
  /** The CairnCluster, in the same namespace. */
  readonly clusterRef: ClusterRef;
  /** Name of the client in the audit log. The default is metadata.name. */
  readonly subject?: string;
  /** Roles that the key gives. */
  readonly grants: readonly AccessGrant[];
  /** The Secret that the key is written to, in the same namespace. */
  readonly secret: KeySecret;
  /** Replacement of the key. */
  readonly rotation: Rotation;
  /** Time at which the key expires. By default it does not expire. */
  readonly expiresAt?: string;
}

export interface EventAccessStatus {
  /** metadata.generation that the status describes. */
  readonly observedGeneration?: number;
  /** Observed conditions. Types: Ready, SecretReady. */
  readonly conditions?: readonly Condition[];
  /** Id of the key in the cluster. */
  readonly keyID?: string;
  /** The Secret that has the key. */
  readonly secretName?: string;
  /** Time at which the key was last issued or replaced. */
  readonly rotatedAt?: string;
  /** The rotateKey that the key was last replaced for. */
  readonly rotateKey?: string;
}

export type CairnClusterCondition =
  | 'Ready'
  | 'QuorumHealthy'
  | 'Progressing'
  | 'VersionUniform'
  | 'TLSReady'
  | 'StorageHealthy'
  | 'ComponentsSynced'
  | 'ConfigurationApplied'
  | 'Quiesced'
  | 'Stable';

/** A cluster of Cairn: nodes that hold the same databases, each with a volume of its own. */
export interface CairnCluster {
  readonly apiVersion: 'cairn.dev/v1alpha1';
  readonly kind: 'CairnCluster';
  readonly metadata: Metadata;
  readonly spec: CairnClusterSpec;
  readonly status?: CairnClusterStatus;
}

export type EventDatabaseCondition = 'Ready' | 'Created';

/** A database of events in a cluster of Cairn. */
export interface EventDatabase {
  readonly apiVersion: 'cairn.dev/v1alpha1';
  readonly kind: 'EventDatabase';
  readonly metadata: Metadata;
  readonly spec: EventDatabaseSpec;
  readonly status?: EventDatabaseStatus;
}

export type StateViewCondition = 'Ready' | 'SourceReady' | 'Published' | 'Distributed' | 'Progressing' | 'Healthy';

/** A WebAssembly component that folds events into a state. */
export interface StateView {
  readonly apiVersion: 'cairn.dev/v1alpha1';
  readonly kind: 'StateView';
  readonly metadata: Metadata;
  readonly spec: StateViewSpec;
  readonly status?: StateViewStatus;
}

export type StateChangeCondition = 'Ready' | 'SourceReady' | 'Published' | 'Distributed' | 'Progressing' | 'Healthy';

/** A WebAssembly component that decides which events follow from a command. */
export interface StateChange {
  readonly apiVersion: 'cairn.dev/v1alpha1';
  readonly kind: 'StateChange';
  readonly metadata: Metadata;
  readonly spec: StateChangeSpec;
  readonly status?: StateChangeStatus;
}

export type PresenterCondition = 'Ready' | 'SourceReady' | 'Published' | 'Distributed' | 'Progressing' | 'Healthy';

/** A WebAssembly component that renders a state in other forms, such as HTML or CSV. */
export interface Presenter {
  readonly apiVersion: 'cairn.dev/v1alpha1';
  readonly kind: 'Presenter';
  readonly metadata: Metadata;
  readonly spec: PresenterSpec;
  readonly status?: PresenterStatus;
}

export type EventAccessCondition = 'Ready' | 'SecretReady';

/** An API key for a client of a cluster of Cairn, kept in a Secret. Deleting the EventAccess revokes the key. */
export interface EventAccess {
  readonly apiVersion: 'cairn.dev/v1alpha1';
  readonly kind: 'EventAccess';
  readonly metadata: Metadata;
  readonly spec: EventAccessSpec;
  readonly status?: EventAccessStatus;
}

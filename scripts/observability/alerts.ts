/**
 * The alerts that Cairn ships, and the recording rules that they need: the one source of
 * charts/cairn/rules/cairn.yaml (rules-file.ts). Each alert has a page in docs/operations/runbooks and cases in
 * test/observability.
 *
 * A cluster is what has the same `namespace` and `job`; a node is a `pod`, or an `instance` outside of Kubernetes.
 * `peer` is the number of a node, as `cairn cluster status` shows it. A restart of each node in turn fires nothing.
 */

export interface Alert {
  /** Without the prefix `Cairn`. Two alerts with one name differ in severity. */
  readonly name: string;
  readonly severity: 'critical' | 'warning' | 'info';
  readonly for: string;
  readonly expr: string;
  /** Consequence for clients or operators. */
  readonly summary: string;
  /** The observation, with labels and value. */
  readonly description: string;
}

interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

export const ALERT_PREFIX = 'Cairn';

const NODE = '{{ or $labels.pod $labels.instance }}';
const CLUSTER = '{{ $labels.namespace }}/{{ $labels.job }}';
const SECONDS = '{{ $value | humanizeDuration }}';
const DAY_SECONDS = 86_400;
/** Other processes have metrics of these names, too. */
const OF_CAIRN = 'and on (namespace, job) cairn_build_info';

/** HTTP routes of transactions. Commands are left out: a component that fails is answered with 500, too. */
export const WRITE_ROUTES = '.+/db/[^/]+(/async)?|/databases/[^/]+/events';
const GRPC_WRITES = 'grpc_method="Transact"';
const HTTP_WRITES = `method="POST",route=~"${WRITE_ROUTES}"`;
/** Every other answer is the client's concern: constraints, names, sizes, rates, rights, quotas (507). */
const GRPC_ANSWERED = 'grpc_code!~"UNAVAILABLE|DEADLINE_EXCEEDED|INTERNAL|UNKNOWN|DATA_LOSS"';
const HTTP_ANSWERED = 'code=~"[1-4]..|507"';

const BURN_WINDOWS = ['5m', '30m', '1h', '6h'] as const;
type BurnWindow = (typeof BURN_WINDOWS)[number];
/** Error budget of writes, in thirty days. */
const ERROR_BUDGET = 0.001;

export const RECORDING_RULES: readonly RecordingRule[] = BURN_WINDOWS.map((window) => ({
  record: errorRatioOf(window),
  expr: `1 - ${writeRate(window, `,${GRPC_ANSWERED}`, `,${HTTP_ANSWERED}`)} / ${writeRate(window)}`,
}));

export const ALERTS: readonly Alert[] = [
  {
    name: 'NoLeader',
    severity: 'critical',
    for: '1m',
    expr: `max by (namespace, job) (cairn_databases) + 1 - sum by (namespace, job) (cairn_raft_is_leader) > 0 and max by (namespace, job) (cairn_raft_groups - cairn_raft_has_leader) > 0`,
    summary: 'Databases are unavailable: their groups have no leader, so they answer neither writes nor current reads.',
    description: `{{ $value }} groups of ${CLUSTER} have no leader. One of them may be the catalog.`,
  },
  {
    name: 'InsufficientMembers',
    severity: 'critical',
    for: '3m',
    expr: `count by (namespace, job) (cairn_build_info) < floor(max by (namespace, job) (cairn_raft_members{role="voter"}) / 2) + 1 or 0 * max by (namespace, job) (max_over_time(cairn_raft_members{role="voter"}[1d])) unless count by (namespace, job) (cairn_build_info)`,
    summary:
      'The cluster has lost its quorum: no database can be created, moved or recovered, and most do not take writes.',
    description: `Only {{ $value }} nodes of ${CLUSTER} answer Prometheus, fewer than a quorum of its catalog.`,
  },
  {
    name: 'QuorumAtRisk',
    severity: 'warning',
    for: '5m',
    expr: 'count by (namespace, job) (max by (namespace, job, peer) (cairn_peer_active) == 0) >= 2',
    summary:
      'Several nodes are down: databases with three replicas may be unavailable, and one more loss may end the quorum of all.',
    description: `No other node of ${CLUSTER} reaches {{ $value }} of its nodes.`,
  },
  ...(['warning', 'critical'] as const).map((severity) => ({
    name: 'MemberDown',
    severity,
    for: { warning: '5m', critical: '15m' }[severity],
    expr: 'max by (namespace, job, peer) (cairn_peer_active) == 0',
    summary: 'A node is down: the loss of one more may make databases unavailable.',
    description: `No other node of ${CLUSTER} reaches node {{ $labels.peer }}.`,
  })),
  {
    name: 'LivenessDisagreement',
    severity: 'warning',
    for: '15m',
    expr: `max by (namespace, job) (sum without (role) (cairn_raft_members)) - count by (namespace, job) (cairn_build_info) - (count by (namespace, job) (max by (namespace, job, peer) (cairn_peer_active) == 0) or 0 * max by (namespace, job) (cairn_databases)) > 0`,
    summary: 'Nodes run unwatched: no alert about them would fire.',
    description: `{{ $value }} members of ${CLUSTER} answer other nodes and are not scraped by Prometheus.`,
  },
  {
    name: 'LeaderFlapping',
    severity: 'warning',
    for: '5m',
    expr: `sum by (namespace, job) (increase(cairn_raft_leader_changes_total[15m])) / sum by (namespace, job) (cairn_raft_groups) > 4`,
    summary: 'Writes pause again and again: groups change their leaders.',
    description: `Each group of ${CLUSTER} had {{ $value | humanize }} leaders in 15 minutes on average.`,
  },
  {
    name: 'ProposalsStuck',
    severity: 'critical',
    for: '2m',
    expr: `min_over_time(cairn_raft_proposals_pending[3m]) > 0 and rate(cairn_raft_proposals_applied_total[3m]) == 0`,
    summary: 'Writes hang: they are accepted and none is applied.',
    description: `{{ $value }} proposals wait on ${NODE}, which has applied nothing for 3 minutes.`,
  },
  {
    name: 'ProposalsFailing',
    severity: 'warning',
    for: '15m',
    expr: 'rate(cairn_raft_proposals_failed_total[5m]) > 1',
    summary: 'Writes are refused, or end without a known outcome.',
    description: `{{ $value | humanize }} proposals per second fail on ${NODE}.`,
  },
  {
    name: 'FollowerLagging',
    severity: 'warning',
    for: '10m',
    expr: 'max by (namespace, job, peer) (cairn_raft_follower_lag_entries) > 10000',
    summary: 'A replica lags: it answers old reads, and cannot become leader when its leader fails.',
    description: `Node {{ $labels.peer }} of ${CLUSTER} lacks {{ $value | humanize }} entries of a group.`,
  },
  {
    name: 'SnapshotsFailing',
    severity: 'warning',
    for: '5m',
    expr: 'increase(cairn_raft_snapshot_failures_total[30m]) > 3',
    summary:
      'A replica does not catch up: transfers of its state do not complete, and cost disk and network again and again.',
    description: `{{ $value | humanize }} transfers ({{ $labels.way }}) failed on ${NODE} in 30 minutes.`,
  },
  ...(['warning', 'critical'] as const).map((severity) => ({
    name: 'SlowFsync',
    severity,
    for: '10m',
    expr: `${p99('cairn_wal_fsync_duration_seconds')} > ${{ warning: 0.5, critical: 1 }[severity]}`,
    summary: 'The disk is slow: every write waits for it, and leaders may be lost.',
    description: `The 99th percentile of log syncs on ${NODE} is ${SECONDS}.`,
  })),
  {
    name: 'SlowCommit',
    severity: 'warning',
    for: '10m',
    expr: `${p99('cairn_store_commit_duration_seconds')} > 0.25`,
    summary: 'The store is slow: reads lag behind writes, and writes wait when the backlog is full.',
    description: `The 99th percentile of batches of the store on ${NODE} is ${SECONDS}.`,
  },
  {
    name: 'SlowPeer',
    severity: 'warning',
    for: '10m',
    expr: `${p99('cairn_peer_round_trip_time_seconds', '10m')} > 0.15`,
    summary: 'The network between two nodes is slow: writes that need both wait for it.',
    description: `The 99th percentile of round trips from ${NODE} to node {{ $labels.peer }} is ${SECONDS}.`,
  },
  {
    name: 'EventLoopStall',
    severity: 'warning',
    for: '5m',
    expr: either('thread', {
      core: `${p99('cairn_core_tick_delay_seconds')} > 0.6`,
      clients: `nodejs_eventloop_lag_p99_seconds > 0.6 ${OF_CAIRN}`,
    }),
    summary:
      'A node stops for long moments: requests wait, and after four times as long its followers elect other leaders.',
    description: `The {{ $labels.thread }} thread of ${NODE} is up to ${SECONDS} late (99th percentile).`,
  },
  {
    name: 'CpuThrottled',
    severity: 'warning',
    for: '15m',
    expr: 'rate(cairn_cpu_throttled_seconds_total[5m]) > 0.2',
    summary: 'A CPU limit stops the node in the middle of its work: latency rises, and elections follow.',
    description: `${NODE} is throttled for {{ $value | humanizePercentage }} of the time.`,
  },
  {
    name: 'WriteErrorBudgetBurn',
    severity: 'critical',
    for: '2m',
    expr: burn(14.4, '1h', '5m'),
    summary: 'Writes fail: at this rate the error budget of 30 days is used up in two days.',
    description: `{{ $value | humanizePercentage }} of the writes to ${CLUSTER} failed in the last hour.`,
  },
  {
    name: 'WriteErrorBudgetBurn',
    severity: 'warning',
    for: '15m',
    expr: burn(6, '6h', '30m'),
    summary: 'Writes fail: at this rate the error budget of 30 days is used up in five days.',
    description: `{{ $value | humanizePercentage }} of the writes to ${CLUSTER} failed in the last 6 hours.`,
  },
  {
    name: 'SlowWrites',
    severity: 'warning',
    for: '10m',
    expr: `${p99('cairn_raft_proposal_duration_seconds')} > 0.5`,
    summary: 'Writes are slow for clients.',
    description: `The 99th percentile of writes through ${NODE} is ${SECONDS}.`,
  },
  {
    name: 'DiskLow',
    severity: 'warning',
    for: '15m',
    expr: `cairn_disk_available_bytes / cairn_disk_capacity_bytes < 0.15 or predict_linear(cairn_disk_available_bytes[1h], 4 * 3600) < ignoring (level) cairn_disk_threshold_bytes{level="soft"}`,
    summary: 'The disk fills up: when it is full, writes are refused.',
    description: `The disk of ${NODE} has less than 15 % left, or reaches the threshold for writes within 4 hours.`,
  },
  {
    name: 'DiskFull',
    severity: 'critical',
    for: '0m',
    expr: 'cairn_disk_level > 0',
    summary: 'Writes are refused: the disk of a node is full.',
    description: `The disk of ${NODE} is at level {{ $value }} (1: no client writes; 2: nothing is appended).`,
  },
  {
    name: 'QuotaNear',
    severity: 'warning',
    for: '5m',
    expr: 'cairn_database_size_bytes / cairn_database_quota_bytes > 0.95',
    summary: 'A database is at its quota: writes to it are refused, or soon will be.',
    description: `{{ $labels.database }} uses {{ $value | humanizePercentage }} of its quota on ${NODE}.`,
  },
  {
    name: 'ArchiveLagging',
    severity: 'warning',
    for: '5m',
    expr: 'time() - max by (namespace, job, database) (cairn_archive_last_success_timestamp_seconds) > 60',
    summary: 'A database is not archived: if the cluster is lost, its latest transactions are lost with it.',
    description: `The archive of {{ $labels.database }} of ${CLUSTER} has nothing of the last ${SECONDS}.`,
  },
  {
    name: 'CompactionBehind',
    severity: 'warning',
    for: '10m',
    expr: 'cairn_store_tables{level="0"} >= 8',
    summary: 'The store slows writes down, and stops them at 12 tables: compaction does not keep up.',
    description: `Level 0 of the store of ${NODE} has {{ $value }} tables.`,
  },
  {
    name: 'StoreCorruption',
    severity: 'critical',
    for: '0m',
    expr: 'cairn_corruption_alarm == 1',
    summary:
      'A node found damage in its store: it rebuilds the rows of the affected databases, and does not serve these meanwhile.',
    description: `${NODE} rebuilds rows after damage was found, or cannot, because events are damaged, too.`,
  },
  {
    name: 'ReplicaDiverged',
    severity: 'critical',
    for: '0m',
    expr: 'cairn_replicas_diverged > 0',
    summary: 'A node holds another history than its group: acknowledged transactions may exist on this node alone.',
    description: `{{ $value }} replicas on ${NODE} have diverged and serve nothing.`,
  },
  {
    name: 'VersionMismatch',
    severity: 'info',
    for: '4h',
    expr: 'count by (namespace, job) (count by (namespace, job, version) (cairn_build_info)) > 1',
    summary: 'An upgrade was not completed: what the new release brings is not in use.',
    description: `${CLUSTER} runs {{ $value }} releases.`,
  },
  {
    name: 'RestartLoop',
    severity: 'warning',
    for: '0m',
    expr: `changes(process_start_time_seconds[15m]) > 2 ${OF_CAIRN}`,
    summary: 'A node restarts again and again: its databases change leaders each time.',
    description: `${NODE} started {{ $value }} times in 15 minutes.`,
  },
  {
    name: 'HighFDs',
    severity: 'warning',
    for: '10m',
    expr: `process_open_fds / process_max_fds > 0.8 ${OF_CAIRN}`,
    summary: 'A node runs out of file descriptors: new connections will be closed as they come.',
    description: `${NODE} uses {{ $value | humanizePercentage }} of its file descriptors.`,
  },
  {
    name: 'ConnectionsRefused',
    severity: 'warning',
    for: '10m',
    expr: 'rate(cairn_connections_closed_total[5m]) > 0',
    summary: 'Clients cannot connect: all connections of a node are in use.',
    description: `${NODE} closes {{ $value | humanize }} connections per second as they come.`,
  },
  ...(['warning', 'critical'] as const).map((severity) => {
    const days = { warning: 21, critical: 7 }[severity];
    const isSoon = (metric: string): string => `(${metric} > 0) - time() < ${days * DAY_SECONDS}`;
    return {
      name: 'CertExpiring',
      severity,
      for: '15m',
      expr: either('port', {
        clients: isSoon('cairn_tls_certificate_expiry_timestamp_seconds'),
        peer: isSoon('cairn_peer_tls_certificate_expiry_timestamp_seconds'),
      }),
      summary: 'A certificate expires soon: afterwards clients, or the other nodes, cannot connect.',
      description: `The certificate of the {{ $labels.port }} port of ${NODE} expires in ${SECONDS}.`,
    };
  }),
  {
    name: 'CertReloadFailing',
    severity: 'warning',
    for: '0m',
    expr: either('port', {
      clients: 'increase(cairn_tls_reloads_total{result="failed"}[6h]) > 0',
      peer: 'increase(cairn_peer_tls_reloads_total{result="failed"}[6h]) > 0',
    }),
    summary: 'A new certificate is not in use: the old one serves on until it expires.',
    description: `${NODE} could not use the changed TLS files of its {{ $labels.port }} port.`,
  },
  {
    name: 'PeersRejected',
    severity: 'warning',
    for: '10m',
    expr: 'increase(cairn_peer_dropped_frames_total{reason=~"cluster|receiver|sender|duplicate|stranger|handshake"}[10m]) > 10',
    summary: 'A node may be kept out of its cluster, or an intruder tries the peer port: a node rejects what dials it.',
    description: `${NODE} rejected {{ $value | humanize }} connections or frames in 10 minutes: {{ $labels.reason }}.`,
  },
  {
    name: 'StateViewLagging',
    severity: 'warning',
    for: '15m',
    expr: 'cairn_stateview_lag_revisions > 10000 or cairn_stateview_maintenance_troubled > 0',
    summary: 'State Views are not up to date: the next read of them has to fold, and is slow or fails.',
    description: `On ${NODE}, a State View{{ with $labels.database }} of {{ . }}{{ end }} lags or fails ({{ $value | humanize }}).`,
  },
  {
    name: 'ComponentTrapping',
    severity: 'warning',
    for: '5m',
    expr: `increase(cairn_guest_faults_total{code!~"Busy|Cancelled|Quarantined"}[10m]) > 10 or cairn_guest_quarantined_components > 0`,
    summary: 'A component fails: its State Views, commands or pages are answered with errors.',
    description: `Components in the pool {{ $labels.pool }} of ${NODE} fail{{ with $labels.code }} with {{ . }}{{ else }} so hard that some are quarantined{{ end }}.`,
  },
  {
    name: 'Overloaded',
    severity: 'warning',
    for: '5m',
    expr: 'rate(cairn_rejected_total{reason="overload"}[5m]) > 1',
    summary: 'Requests are refused: a node has more work than memory for it.',
    description: `${NODE} refuses {{ $value | humanize }} requests per second as overload.`,
  },
  ...(['warning', 'critical'] as const).map((severity) => ({
    name: 'ClockOffset',
    severity,
    for: { warning: '10m', critical: '1m' }[severity],
    expr: `min by (namespace, job, pod, instance) (abs(cairn_clock_offset_seconds)) > ${{ warning: 0.5, critical: 2 }[severity]}`,
    summary: {
      warning:
        'The clock of a node is wrong: recorded times differ from real ones, and beyond 2 s the node leads nothing.',
      critical: 'The clock of a node is wrong by more than 2 s: the node leads nothing.',
    }[severity],
    description: `The clock of ${NODE} is ${SECONDS} or more from those of all its peers.`,
  })),
  {
    name: 'RecordedTimeAhead',
    severity: 'warning',
    for: '5m',
    expr: 'cairn_recorded_time_ahead_seconds > 0',
    summary: 'New events all get the same recorded time: an earlier one lies in the future.',
    description: `A database that ${NODE} leads has a recorded time that is ${SECONDS} ahead of the clock.`,
  },
  {
    name: 'IdentityKeysUnreadable',
    severity: 'warning',
    for: '5m',
    expr: `increase(cairn_identity_keys_reads_total{result="failed"}[30m]) > 0 unless ignoring (result) increase(cairn_identity_keys_reads_total{result="read"}[30m]) > 0`,
    summary: 'People and services with tokens of the identity provider may be refused: its keys cannot be read.',
    description: `${NODE} has read no keys for 30 minutes, and {{ $value | humanize }} attempts failed.`,
  },
];

function p99(histogram: string, window = '5m'): string {
  return `histogram_quantile(0.99, rate(${histogram}_bucket[${window}]))`;
}

/** Any of these, told apart by the value of a label. */
function either(label: string, exprs: Readonly<Record<string, string>>): string {
  return Object.entries(exprs)
    .map(([value, expr]) => `label_replace(${expr}, "${label}", "${value}", "", "")`)
    .join(' or ');
}

function writeRate(window: BurnWindow, grpc = '', http = ''): string {
  const calls = `sum by (namespace, job) (rate(grpc_server_handled_total{${GRPC_WRITES}${grpc}}[${window}]))`;
  const requests = `sum by (namespace, job) (rate(http_server_request_duration_seconds_count{${HTTP_WRITES}${http}}[${window}]))`;
  return `(${calls} + ${requests})`;
}

function errorRatioOf(window: BurnWindow): string {
  return `cairn:write_errors:ratio_rate${window}`;
}

/** In the long window, so that it matters, and in the short one, so that it ends with its cause. */
function burn(factor: number, long: BurnWindow, short: BurnWindow): string {
  const bound = Number((factor * ERROR_BUDGET).toPrecision(6));
  return `${errorRatioOf(long)} > ${bound} and ${errorRatioOf(short)} > ${bound}`;
}

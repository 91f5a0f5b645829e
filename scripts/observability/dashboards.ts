/**
 * The dashboards that Cairn ships, as tables of panels: the one source of charts/cairn/dashboards (dashboard-file.ts).
 * A test runs every expression in a real Prometheus.
 */

export interface Query {
  readonly expr: string;
  /** Legend of each line in Grafana's syntax: labels in double braces. */
  readonly legend: string;
}

/** Unit names of Grafana. `bytes` and `binBps` count in 1,024. */
type Unit = 'bytes' | 'binBps' | 'dateTimeFromNow' | 'none' | 'ops' | 'percentunit' | 's' | 'short';

export interface Panel {
  readonly kind: 'stat' | 'graph';
  readonly title: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
}

export interface Dashboard {
  readonly name: string;
  readonly title: string;
  /** Keyed on the heading. */
  readonly sections: Readonly<Record<string, readonly Panel[]>>;
}

const RATE = '$__rate_interval';

export const DASHBOARDS: readonly Dashboard[] = [
  {
    name: 'overview',
    title: 'Overview',
    sections: {
      Now: [
        stat('Nodes that answer', 'none', 'count(cairn_build_info)'),
        stat('Members', 'none', 'max(sum without (role) (cairn_raft_members))'),
        stat('Groups without a leader', 'none', 'max(cairn_raft_groups - cairn_raft_has_leader)'),
        stat('Databases', 'none', 'max(cairn_databases)'),
        stat('Failed writes, last hour', 'percentunit', 'max(cairn:write_errors:ratio_rate1h)'),
        stat('Least free disk', 'percentunit', 'min(cairn_disk_available_bytes / cairn_disk_capacity_bytes)'),
      ],
      Clients: [
        graph('Transactions by result', 'ops', rate('cairn_transactions_total', 'result')),
        graph('Write latency', 's', ...quantiles('cairn_raft_proposal_duration_seconds')),
        graph('Failed writes', 'percentunit', {
          expr: 'cairn:write_errors:ratio_rate5m',
          legend: '{{namespace}}/{{job}}',
        }),
        graph('Reads', 'ops', rate('cairn_query_duration_seconds_count', 'op')),
        graph('Read latency, p99', 's', quantile(0.99, 'cairn_query_duration_seconds', 'op')),
        graph('Refused requests', 'ops', rate('cairn_rejected_total', 'reason')),
      ],
      Nodes: [
        graph('CPU', 'percentunit', rate('process_cpu_seconds_total', 'pod')),
        graph('Resident memory', 'bytes', level('process_resident_memory_bytes', 'pod')),
        graph('Free disk', 'bytes', level('cairn_disk_available_bytes', 'pod')),
        graph('Log sync, p99', 's', quantile(0.99, 'cairn_wal_fsync_duration_seconds', 'pod')),
        graph('Entries that nodes lack', 'short', named('node', most('cairn_raft_follower_lag_entries', 'peer'))),
        graph('Alerts', 'none', {
          expr: 'count by (alertname, severity) (ALERTS{alertname=~"Cairn.+",alertstate="firing"})',
          legend: '{{alertname}} ({{severity}})',
        }),
      ],
    },
  },
  {
    name: 'raft',
    title: 'Raft and replication',
    sections: {
      Leaders: [
        graph('Groups', 'short', level('cairn_raft_groups', 'pod')),
        graph('Groups led', 'short', level('cairn_raft_is_leader', 'pod')),
        graph('Groups without a leader', 'short', level('cairn_raft_groups - cairn_raft_has_leader', 'pod')),
        graph('Changes of leaders', 'ops', rate('cairn_raft_leader_changes_total', 'pod')),
        graph('Elections by result', 'ops', rate('cairn_raft_election_total', 'pod', 'result')),
        graph('Highest term', 'none', level('cairn_raft_term', 'pod')),
        graph('Members of the catalog', 'none', level('cairn_raft_members', 'pod', 'role')),
        graph('Lateness of the core thread', 's', ...quantiles('cairn_core_tick_delay_seconds', 'pod')),
        graph('Diverged replicas', 'none', level('cairn_replicas_diverged', 'pod')),
      ],
      Proposals: [
        graph('Proposals', 'ops', ...rates('cairn_raft_proposals_{committed,applied,failed}_total', 'pod')),
        graph('Pending proposals', 'short', level('cairn_raft_proposals_pending', 'pod')),
        graph('Time to the outcome', 's', ...quantiles('cairn_raft_proposal_duration_seconds', 'pod')),
        graph('Time of a read barrier', 's', ...quantiles('cairn_raft_read_index_duration_seconds', 'pod')),
        graph('Entries not committed', 'short', level('cairn_raft_last_index - cairn_raft_committed_index', 'pod')),
        graph('Entries not applied', 'short', level('cairn_raft_committed_index - cairn_raft_applied_index', 'pod')),
        graph('Queues', 'short', level('cairn_worker_queue_depth', 'pod', 'worker')),
        graph('Replication memory', 'bytes', level('cairn_replication_memory_bytes', 'pod')),
        graph('Pauses in reading from peers', 'ops', rate('cairn_peer_reading_stopped_total', 'pod')),
      ],
      Peers: [
        graph('Peers reached', 'none', level('cairn_peer_active', 'pod', 'peer')),
        graph('Round trip, p99', 's', quantile(0.99, 'cairn_peer_round_trip_time_seconds', 'pod', 'peer')),
        graph('Entries that peers lack', 'short', level('cairn_raft_follower_lag_entries', 'pod', 'peer')),
        graph('Sent', 'binBps', rate('cairn_peer_sent_bytes_total', 'pod', 'peer')),
        graph('Received', 'binBps', rate('cairn_peer_received_bytes_total', 'pod', 'peer')),
        graph('Failed frames', 'ops', ...rates('cairn_peer_{sent,received}_failures_total', 'pod', 'peer')),
        graph('Dropped frames by reason', 'ops', rate('cairn_peer_dropped_frames_total', 'pod', 'reason')),
        graph('Failed heartbeats', 'ops', rate('cairn_raft_heartbeat_send_failures_total', 'pod')),
        graph('Clock ahead of peers', 's', level('cairn_clock_offset_seconds', 'pod', 'peer')),
      ],
      Snapshots: [
        graph('Members that need one', 'none', level('cairn_raft_members_behind', 'pod')),
        graph('Bytes', 'binBps', rate('cairn_raft_snapshot_bytes_total', 'pod', 'peer', 'way')),
        graph('Duration, p99', 's', quantile(0.99, 'cairn_raft_snapshot_duration_seconds', 'pod', 'way')),
        graph('Failures', 'ops', rate('cairn_raft_snapshot_failures_total', 'pod', 'way')),
        graph('Recorded time ahead of the clock', 's', level('cairn_recorded_time_ahead_seconds', 'pod')),
        graph('Recovered databases', 'none', level('cairn_databases_recovered', 'pod')),
      ],
    },
  },
  {
    name: 'storage',
    title: 'Storage',
    sections: {
      Log: [
        graph('Sync', 's', ...quantiles('cairn_wal_fsync_duration_seconds', 'pod')),
        graph('Syncs', 'ops', rate('cairn_wal_fsync_duration_seconds_count', 'pod')),
        graph('Written', 'binBps', rate('cairn_wal_write_bytes_total', 'pod')),
      ],
      Store: [
        graph('Batch', 's', ...quantiles('cairn_store_commit_duration_seconds', 'pod')),
        graph('Tables by level', 'short', level('cairn_store_tables', 'pod', 'level')),
        graph('Time in compaction', 'percentunit', rate('cairn_store_compaction_seconds_total', 'pod')),
        graph('Compaction', 'binBps', ...rates('cairn_store_compaction_{read,written}_bytes_total', 'pod')),
        graph('Verified by the scrub', 'binBps', rate('cairn_store_scrub_bytes_total', 'pod')),
        graph('Last whole scrub', 'dateTimeFromNow', date('cairn_store_scrub_round_timestamp_seconds')),
        graph('Damage suspected', 'none', level('cairn_corruption_alarm', 'pod')),
      ],
      Disk: [
        graph('Free', 'bytes', level('cairn_disk_available_bytes', 'pod'), {
          expr: 'max by (level) (cairn_disk_threshold_bytes)',
          legend: '{{level}} threshold',
        }),
        graph('Size of the file system', 'bytes', level('cairn_disk_capacity_bytes', 'pod')),
        graph('Level (1: no client writes, 2: no appends)', 'none', level('cairn_disk_level', 'pod')),
        graph('Files', 'bytes', level('cairn_store_size_bytes', 'pod', 'kind')),
        graph('Largest databases', 'bytes', top(most('cairn_database_size_bytes', 'database'))),
        graph(
          'Nearest to quota',
          'percentunit',
          top(most('cairn_database_size_bytes / cairn_database_quota_bytes', 'database')),
        ),
        graph('Busiest databases', 'ops', top(most(`rate(cairn_database_revision[${RATE}])`, 'database'))),
      ],
      Archive: [
        graph(
          'Age of recovery points',
          's',
          top(least('time() - cairn_archive_last_success_timestamp_seconds', 'database')),
        ),
        graph('Stored in the archive', 'binBps', rate('cairn_archive_bytes_total', 'pod')),
        graph('Failed attempts to archive', 'ops', rate('cairn_archive_failures_total', 'pod')),
      ],
    },
  },
  {
    name: 'api',
    title: 'API',
    sections: {
      gRPC: [
        graph('Calls', 'ops', top(rate('grpc_server_started_total', 'grpc_method'))),
        graph('Failures', 'ops', top(rate('grpc_server_handled_total{grpc_code!="OK"}', 'grpc_method', 'grpc_code'))),
        graph('Latency, p99', 's', top(quantile(0.99, 'grpc_server_handling_seconds', 'grpc_method'))),
        graph('Messages received', 'ops', top(rate('grpc_server_msg_received_total', 'grpc_method'))),
        graph('Messages sent', 'ops', top(rate('grpc_server_msg_sent_total', 'grpc_method'))),
        graph('Connections ended', 'ops', rate('cairn_grpc_connections_ended_total', 'pod', 'reason')),
      ],
      HTTP: [
        graph('Requests', 'ops', top(rate('http_server_request_duration_seconds_count', 'method', 'route'))),
        graph('Requests by status', 'ops', rate('http_server_request_duration_seconds_count', 'code')),
        graph('Latency, p99', 's', top(quantile(0.99, 'http_server_request_duration_seconds', 'method', 'route'))),
        graph('Redirects', 'ops', rate('cairn_redirects_total', 'reason')),
      ],
      MCP: [
        graph('Messages', 'ops', rate('cairn_mcp_requests_total', 'method')),
        graph('Sessions', 'short', level('cairn_mcp_sessions', 'pod')),
        graph('Sessions begun and ended', 'ops', ...rates('cairn_mcp_sessions_{begun,ended}_total', 'pod')),
      ],
      Data: [
        graph('Transactions', 'ops', rate('cairn_transactions_total', 'origin', 'result')),
        graph('Events of a transaction, mean', 'short', mean('cairn_transaction_events', 'pod')),
        graph('Bytes of a transaction, mean', 'bytes', mean('cairn_transaction_bytes', 'pod')),
        graph('Constraints decided', 'ops', rate('cairn_constraint_checks_total', 'kind', 'result')),
        graph('Events returned', 'ops', rate('cairn_query_events_returned_total', 'pod')),
        graph('Open streams', 'short', level('cairn_streams_open', 'pod', 'op')),
        graph('Revisions that tails lack', 'short', ...quantiles('cairn_catchup_lag_revisions')),
        graph('Relayed to other nodes', 'ops', rate('cairn_relayed_requests_total', 'protocol', 'result')),
      ],
      Limits: [
        graph('Requests being answered', 'short', level('cairn_inflight_requests', 'pod', 'plane')),
        graph('Memory of requests', 'bytes', level('cairn_request_memory_bytes', 'pod')),
        graph('Memory of unread replies', 'bytes', level('cairn_unsent_memory_bytes', 'pod')),
        graph('Refused', 'ops', rate('cairn_rejected_total', 'pod', 'reason')),
        graph('Over their rate', 'ops', rate('cairn_rate_limited_total', 'protocol', 'by')),
        graph('Connections closed as they came', 'ops', rate('cairn_connections_closed_total', 'pod')),
        graph('Connections displaced', 'ops', rate('cairn_connections_displaced_total', 'protocol', 'waiting')),
      ],
      Security: [
        graph('Credentials refused', 'ops', rate('cairn_unauthenticated_total', 'pod')),
        graph('Keys of the identity provider read', 'ops', rate('cairn_identity_keys_reads_total', 'pod', 'result')),
        graph('Failed TLS handshakes', 'ops', rate('cairn_tls_handshakes_failed_total', 'pod')),
        graph('Certificates reloaded', 'ops', ...rates('cairn_{tls,peer_tls}_reloads_total', 'pod', 'result')),
        graph(
          'Certificates expire',
          'dateTimeFromNow',
          named('clients', date('cairn_tls_certificate_expiry_timestamp_seconds')),
          named('peers', date('cairn_peer_tls_certificate_expiry_timestamp_seconds')),
        ),
      ],
      Traces: [graph('Spans', 'ops', ...rates('cairn_trace_spans_{ended,exported}_total', 'pod'))],
    },
  },
  {
    name: 'components',
    title: 'Components and State Views',
    sections: {
      Calls: [
        graph('Calls', 'ops', rate('cairn_guest_calls_total', 'pool')),
        graph('Faults', 'ops', top(rate('cairn_guest_faults_total', 'pool', 'code'))),
        graph('Waiting', 'short', level('cairn_guest_waiting_calls', 'pod', 'pool')),
        graph('Fuel', 'short', rate('cairn_guest_fuel_total', 'pool')),
        graph('Questions to the node', 'ops', rate('cairn_guest_host_calls_total', 'pool')),
        graph('Quarantined', 'none', level('cairn_guest_quarantined_components', 'pod', 'pool')),
      ],
      'State Views': [
        graph('Events folded', 'ops', rate('cairn_stateview_events_folded_total', 'by')),
        graph('Steps of maintenance', 'ops', rate('cairn_stateview_maintenance_steps_total', 'result')),
        graph('Revisions that views lack', 'short', top(most('cairn_stateview_lag_revisions', 'database'))),
        graph('Maintained', 'short', level('cairn_stateview_maintained', 'pod', 'mode')),
        graph('Failing', 'none', level('cairn_stateview_maintenance_troubled', 'pod')),
      ],
      Processes: [
        graph('Processes', 'ops', ...rates('cairn_guest_processes_{started,killed,recycled}_total', 'pool')),
        graph('Resident memory', 'bytes', level('cairn_guest_resident_bytes', 'pod', 'pool')),
        graph('Cached on disk', 'bytes', level('cairn_guest_cache_bytes', 'pod', 'kind')),
        graph('Cached files damaged', 'ops', rate('cairn_guest_cache_damaged_total', 'pod', 'kind')),
        graph('Files not cached', 'ops', rate('cairn_guest_cache_refused_total', 'pod', 'kind')),
      ],
    },
  },
  {
    name: 'runtime',
    title: 'Runtime',
    sections: {
      Releases: [
        graph('Releases', 'none', {
          expr: 'count by (version, node, commit) (cairn_build_info)',
          legend: '{{version}} ({{commit}}), Node.js {{node}}',
        }),
        graph('Feature level', 'none', level('cairn_cluster_version', 'pod')),
        graph('Uptime', 's', level('time() - process_start_time_seconds', 'pod')),
      ],
      Processor: [
        graph('CPU', 'percentunit', rate('process_cpu_seconds_total', 'pod')),
        graph('Throttled', 'percentunit', rate('cairn_cpu_throttled_seconds_total', 'pod')),
        graph('Lateness of the core thread, p99', 's', quantile(0.99, 'cairn_core_tick_delay_seconds', 'pod')),
        graph('Lateness of the client thread, p99', 's', level('nodejs_eventloop_lag_p99_seconds', 'pod')),
        graph('Time in garbage collection', 'percentunit', rate('nodejs_gc_duration_seconds_sum', 'pod', 'kind')),
      ],
      Memory: [
        graph('Resident', 'bytes', level('process_resident_memory_bytes', 'pod')),
        graph('Heap of the client thread', 'bytes', level('nodejs_heap_size_used_bytes', 'pod')),
        graph('Beside the heap', 'bytes', level('nodejs_external_memory_bytes', 'pod')),
        graph('File descriptors', 'percentunit', level('process_open_fds / process_max_fds', 'pod')),
      ],
    },
  },
];

function stat(title: string, unit: Unit, expr: string): Panel {
  return { kind: 'stat', title, unit, queries: [{ expr, legend: title }] };
}

function graph(title: string, unit: Unit, ...queries: readonly Query[]): Panel {
  return { kind: 'graph', title, unit, queries };
}

/** Per second, added up by labels. */
function rate(counter: string, ...by: readonly string[]): Query {
  return { expr: `sum by (${by.join(', ')}) (rate(${counter}[${RATE}]))`, legend: legendOf(by) };
}

function level(gauge: string, ...by: readonly string[]): Query {
  return { expr: `sum by (${by.join(', ')}) (${gauge})`, legend: legendOf(by) };
}

function quantile(share: number, histogram: string, ...by: readonly string[]): Query {
  const buckets = `sum by (${[...by, 'le'].join(', ')}) (rate(${histogram}_bucket[${RATE}]))`;
  return { expr: `histogram_quantile(${share}, ${buckets})`, legend: legendOf(by) };
}

function quantiles(histogram: string, ...by: readonly string[]): readonly Query[] {
  return [0.5, 0.99].map((share) => named(`p${100 * share}`, quantile(share, histogram, ...by)));
}

function mean(histogram: string, ...by: readonly string[]): Query {
  const [sum, count] = [rate(`${histogram}_sum`, ...by), rate(`${histogram}_count`, ...by)];
  return { expr: `${sum.expr} / ${count.expr}`, legend: sum.legend };
}

function most(gauge: string, ...by: readonly string[]): Query {
  return { expr: `max by (${by.join(', ')}) (${gauge})`, legend: legendOf(by) };
}

function least(gauge: string, ...by: readonly string[]): Query {
  return { expr: `min by (${by.join(', ')}) (${gauge})`, legend: legendOf(by) };
}

function top({ expr, legend }: Query): Query {
  return { expr: `topk(10, ${expr})`, legend };
}

/** Rates of counters whose names differ in one word: those between the braces, which the legends show. */
function rates(counters: string, ...by: readonly string[]): readonly Query[] {
  const [before = '', words = '', after = ''] = counters.split(/[{}]/);
  return words.split(',').map((word) => named(word, rate(`${before}${word}${after}`, ...by)));
}

/** For panels with several queries. */
function named(prefix: string, { expr, legend }: Query): Query {
  return { expr, legend: `${prefix} ${legend}`.trim() };
}

/** Grafana counts dates in milliseconds; 0 means no date. */
function date(gauge: string): Query {
  return level(`(${gauge} > 0) * 1000`, 'pod');
}

function legendOf(labels: readonly string[]): string {
  return labels.map((label) => `{{${label}}}`).join(' ');
}
